"""Numbers in a list; a slice shares them, as torch's do."""

ITEM_BYTES = {"bfloat16": 2, "int64": 8}
bfloat16, int64 = ITEM_BYTES
dtype = str


class Tensor:
    def __init__(self, numbers, dtype, size=None):
        self.numbers, self.dtype = numbers, dtype
        self.size = len(numbers) if size is None else size

    def __getitem__(self, part):
        return Tensor(self.numbers, self.dtype, part.stop)

    def element_size(self):
        return ITEM_BYTES[self.dtype]

    def fill_(self, number):
        self.numbers[: self.size] = [number] * self.size
        return self

    def zero_(self):
        return self.fill_(0)

    def item(self):
        return self.numbers[0]

    def tolist(self):
        starts = range(0, len(self.numbers), self.width)
        return [self.numbers[start : start + self.width] for start in starts]


def zeros(size, dtype, device):
    assert device == "cpu"
    return Tensor([0] * size, dtype)


def empty(size, dtype):
    return Tensor([0] * size, dtype)


def tensor(rows, dtype):
    made = Tensor([number for row in rows for number in row], dtype)
    made.width = len(rows[0])
    return made
