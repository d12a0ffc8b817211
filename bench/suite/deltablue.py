"""DeltaBlue: constraints between variables, kept by strength, changed one at a time.

The solver of Freeman-Benson, Maloney and Borning (1990): a variable knows how strong what determines
it is ("walk strength"), so adding or removing a constraint looks only at what hangs together with it.
A constraint is one object with a function for each variable that it may determine.
"""
import measured

REQUIRED, STRONG, PREFERRED, NORMAL, WEAK, WEAKEST = range(6)
CHAIN, PAIRS, CHANGES = 60, 60, 20
SCALE, OFFSET = 10, 1000


class Variable:
    def __init__(self, name, value=0):
        self.name = name
        self.value = value
        self.constraints = []
        self.determined_by = None
        self.walk_strength = WEAKEST
        self.stays = True
        self.mark = 0


class Constraint:
    """variables: all that take part; ways: {variable it may determine: function giving its value}."""

    def __init__(self, strength, variables, ways):
        self.strength = strength
        self.variables = variables
        self.ways = ways
        self.output = None

    is_input = False

    def inputs(self):
        return [variable for variable in self.variables if variable is not self.output]

    def choose(self, mark):
        """Determine the variable that is held the least, if less than by us."""
        self.output = None
        for variable in self.ways:
            if variable.mark != mark and self.strength < variable.walk_strength and (
                    self.output is None or variable.walk_strength > self.output.walk_strength):
                self.output = variable

    def execute(self):
        self.output.value = self.ways[self.output]()

    def recalculate(self):
        output = self.output
        strength = self.strength
        for variable in self.ways:
            if variable is not output and variable.walk_strength > strength:
                strength = variable.walk_strength
        output.walk_strength = strength
        output.stays = not self.is_input and all(each.stays for each in self.inputs())
        if output.stays:
            self.execute()

    def knows_inputs(self, mark):
        return all(variable.mark == mark or variable.stays or variable.determined_by is None
                   for variable in self.inputs())


class Stay(Constraint):
    def __init__(self, strength, variable):
        super().__init__(strength, [variable], {variable: lambda: variable.value})


class Edit(Stay):
    """The value comes from outside."""
    is_input = True


class Equal(Constraint):
    def __init__(self, strength, a, b):
        super().__init__(strength, [a, b], {a: lambda: b.value, b: lambda: a.value})


class Scale(Constraint):
    """image = source * scale + offset, in either direction."""

    def __init__(self, strength, source, scale, offset, image):
        super().__init__(strength, [source, scale, offset, image], {
            image: lambda: source.value * scale.value + offset.value,
            source: lambda: (image.value - offset.value) // scale.value})


class Planner:
    def __init__(self):
        self.mark = 0

    def new_mark(self):
        self.mark += 1
        return self.mark

    def add(self, constraint):
        for variable in constraint.variables:
            variable.constraints.append(constraint)
        self.satisfy_all(constraint)
        return constraint

    def satisfy_all(self, constraint):
        """Satisfy it, and what had to make way for it by other means."""
        mark = self.new_mark()
        while constraint is not None:
            constraint = self.satisfy(constraint, mark)

    def satisfy(self, constraint, mark):
        """Return the constraint that determined its output before, or None."""
        constraint.choose(mark)
        output = constraint.output
        if output is None:
            assert constraint.strength != REQUIRED, "a required constraint cannot be kept"
            return None
        for variable in constraint.inputs():
            variable.mark = mark
        displaced = output.determined_by
        if displaced is not None:
            displaced.output = None
        output.determined_by = constraint
        self.propagate(constraint, mark)
        output.mark = mark
        return displaced

    def propagate(self, constraint, mark):
        waiting = [constraint]
        while waiting:
            each = waiting.pop()
            assert each.output.mark != mark, "constraints in a circle"
            each.recalculate()
            waiting.extend(self.users(each.output))

    @staticmethod
    def users(variable):
        return [constraint for constraint in variable.constraints
                if constraint.output is not None and constraint is not variable.determined_by]

    def remove(self, constraint):
        for variable in constraint.variables:
            variable.constraints.remove(constraint)
        output, constraint.output = constraint.output, None
        if output is None:
            return
        output.determined_by, output.walk_strength, output.stays = None, WEAKEST, True
        unsatisfied, waiting = [], [output]
        while waiting:
            variable = waiting.pop()
            unsatisfied += [each for each in variable.constraints if each.output is None]
            for each in self.users(variable):
                each.recalculate()
                waiting.append(each.output)
        for each in sorted(unsatisfied, key=lambda each: each.strength):
            if each.output is None:
                self.satisfy_all(each)

    def plan(self, constraints):
        """Return in their order the constraints to execute when these inputs change."""
        mark, planned = self.new_mark(), []
        waiting = [each for each in constraints if each.is_input and each.output is not None]
        while waiting:
            each = waiting.pop()
            if each.output.mark != mark and each.knows_inputs(mark):
                planned.append(each)
                each.output.mark = mark
                waiting.extend(self.users(each.output))
        return planned


def change(planner, variable, value):
    edit = planner.add(Edit(PREFERRED, variable))
    for constraint in (planner.plan([edit]) * CHANGES if edit.output else ()):
        variable.value = value
        constraint.execute()
    planner.remove(edit)


def chain(length):
    """A row of equal variables: what is put in at one end comes out at the other."""
    planner = Planner()
    row = [Variable("v%d" % i) for i in range(length + 1)]
    for left, right in zip(row, row[1:]):
        planner.add(Equal(REQUIRED, left, right))
    planner.add(Stay(NORMAL, row[-1]))
    edit = planner.add(Edit(STRONG, row[0]))
    plan = planner.plan([edit])
    assert len(plan) == length + 1
    for value in range(CHANGES):
        row[0].value = value
        for constraint in plan:
            constraint.execute()
        assert row[-1].value == value
    planner.remove(edit)
    assert row[0].determined_by is not None and row[-1].determined_by.strength == NORMAL


def projection(count):
    """Points and their images: each is put at a place, then scale and offset are moved."""
    planner = Planner()
    scale, offset = Variable("scale", SCALE), Variable("offset", OFFSET)
    pairs = []
    for i in range(count):
        pairs.append((Variable("source%d" % i, i), Variable("image%d" % i, i)))
        planner.add(Stay(NORMAL, pairs[-1][0]))
        planner.add(Scale(REQUIRED, pairs[-1][0], scale, offset, pairs[-1][1]))
    source, image = pairs[-1]
    change(planner, source, 17)
    assert image.value == 17 * SCALE + OFFSET
    change(planner, image, 5 * SCALE + OFFSET)
    assert source.value == 5
    for variable, value in ((scale, 3), (offset, 2000)):
        change(planner, variable, value)
        assert all(image.value == source.value * scale.value + offset.value
                   for source, image in pairs)
    assert [source.value for source, _ in pairs[:-1]] == list(range(count - 1))


def main(loops):
    """Return how many variables were kept."""
    for _ in range(loops):
        chain(CHAIN)
        projection(PAIRS)
    return loops * (CHAIN + 1 + 2 * PAIRS + 2)


if __name__ == "__main__":
    measured.run(main)
