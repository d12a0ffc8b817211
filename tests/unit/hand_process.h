/*
 * A process of a session that no process of the machine has said hello for.
 */
#ifndef UNIT_HAND_PROCESS_H
#define UNIT_HAND_PROCESS_H

#include "collect/processes.h"

/* Put one into a slot, alive. */
static inline struct process *add_process(struct session *session, uint32_t slot, uint32_t number,
                                          uint32_t pid)
{
    struct process *process = &session->processes[slot];

    atomic_store(&process->pid, pid);
    atomic_store(&process->number, number);
    process_set_phase(process, PHASE_LIVE);
    session_use_slot(session, slot);
    return process;
}

#endif
