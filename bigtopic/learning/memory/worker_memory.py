class WorkerMemory:
    def __init__(self, *a): self.able = lambda: None
