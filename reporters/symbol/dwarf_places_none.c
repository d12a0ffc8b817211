/*
 * Built without libdw: there are no places to be had from debugging information.
 */
#include "symbol/dwarf_places.h"

bool dwarf_places_find(const struct dwarf_question *question, struct dwarf_places *places)
{
    (void)question;
    (void)places;
    return false;
}

bool dwarf_places_is_built_in(void)
{
    return false;
}
