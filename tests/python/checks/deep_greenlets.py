"""Deep stacks of greenlets that take turns: several stacks of frames with one thread state."""

import greenlet

import probe
from wanderer import DEEPEST, Wanderer, run_deep, wander_to_the_end

COUNT = 3


class Switching(Wanderer):
    """Looks, and lets another one wander."""

    def look(self):
        super().look()
        others = [other for other in greenlets if not other.dead and other.gr_frame is not None]
        if others and self.random.random() < 0.5:
            self.random.choice(others).switch()
            super().look()


def begin(seed):
    wanderers[seed].look()
    main_greenlet.switch()
    wander_to_the_end(wanderers[seed])


wanderers = [Switching(seed, 6000) for seed in range(COUNT)]
greenlets = []


def main():
    global main_greenlet
    main_greenlet = greenlet.getcurrent()
    greenlets.extend(greenlet.greenlet(begin) for _ in range(COUNT))
    for seed, one in enumerate(greenlets):
        one.switch(seed)
    for one in greenlets:
        while not one.dead:
            one.switch()
    for seed, wanderer in enumerate(wanderers):
        probe.check("greenlet %d" % seed, wanderer.wrong == 0, wanderer.wrong)
        probe.check("it was deep", wanderer.deepest > DEEPEST // 2, wanderer.deepest)
    probe.finish()


run_deep(main)
