from torch.hooks import Handle

_post_hooks = []


def register_optimizer_step_post_hook(hook):
    return Handle(_post_hooks, hook)


class Optimizer:
    def step(self):
        for hook in list(_post_hooks):
            hook(self, (), {})
