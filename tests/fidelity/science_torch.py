"""PyTorch: tensors, modules, optimisers, and what hangs together in training."""

from __future__ import annotations

from tests.fidelity.cases import Case

TITLE = "PyTorch"

_T = "import torch\ntorch.manual_seed(0)\n"

_DTYPES = """
    float32 float64 float16 bfloat16 complex64 complex128 int8 int16 int32 int64 uint8 bool
    float8_e4m3fn float8_e5m2 uint16 uint32 uint64
"""

_TENSORS = {
    "0-d": "torch.tensor(3.5)",
    "empty": "torch.zeros(0, 3)",
    "transposed": "torch.arange(6000.).reshape(60, 100).T",
    "channels last": "torch.rand(2, 3, 8, 8).contiguous(memory_format=torch.channels_last)",
    "expanded": "torch.arange(3.).expand(4, 3)",
    "a part of a storage": "torch.arange(9000.)[100:200:3]",
    "NaN payloads": "torch.tensor([0x7FC00123, -4194000]).to(torch.int32).view(torch.float32)",
    "conjugated": "torch.view_as_complex(torch.rand(500, 2)).conj()",
    "negated": "torch.view_as_complex(torch.rand(500, 2)).conj().imag",
    "requires grad": "torch.rand(30, requires_grad=True)",
    "sparse": "torch.eye(30).to_sparse()",
    "sparse, not coalesced": (
        "torch.sparse_coo_tensor(torch.tensor([[0, 0], [1, 1]]), torch.tensor([1., 2.]), (2, 2))"
    ),
    "sparse CSR": "torch.eye(30).to_sparse_csr()",
    "sparse CSC": "torch.eye(30).to_sparse_csc()",
    "sparse BSR": "torch.eye(30).to_sparse_bsr((3, 3))",
    "meta": "torch.empty(5000, 5000, device='meta')",
    "a parameter": "torch.nn.Parameter(torch.rand(40, 50))",
    "a frozen parameter": "torch.nn.Parameter(torch.ones(4), requires_grad=False)",
    "a buffer": "torch.nn.Buffer(torch.ones(4))",
}

_SINCE = {"a buffer": ">=2.5", "Adafactor": ">=2.5"}
"""The first torch that has it."""

_STATEMENTS = {
    "gradients": ("x = torch.rand(4, 5, requires_grad=True)\n(x * x).sum().backward()"),
    "views of one storage": (
        "t = torch.zeros(20000)\nx = [t, t[5:10], t.view(100, 200).T, t.detach(), t.untyped_storage()]"
    ),
    "views of a storage nobody holds": "t = torch.rand(900)\nx = [t[5:100], t[50:60]]\ndel t",
    "complex parts": "t = torch.rand(50, dtype=torch.complex64)\nx = [t, t.real, t.imag, t.conj()]",
    "an array and a tensor on one memory": (
        "import numpy as np\na = np.arange(9000.)\nx = {'a': a, 't': torch.from_numpy(a), 'v': a[5:9]}"
    ),
    "a tensor and its array": "t = torch.arange(9000.)\nx = [t, t.numpy(), t.numpy()[50:60]]",
    "attributes of the user's": "x = torch.ones(3)\nx.label = ['mine']",
    "layers of many kinds": (
        "x = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(),\n"
        "    torch.nn.Flatten(), torch.nn.Embedding(5, 6), torch.nn.MultiheadAttention(8, 2))"
    ),
    "a module in evaluation, partly frozen": (
        "x = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout())\nx.eval()\n"
        "x[0].weight.requires_grad_(False)"
    ),
    "a module of the notebook": (
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(2)])\n"
        "        self.register_buffer('steps', torch.tensor(5), persistent=False)\n"
        "    def forward(self, x):\n"
        "        for layer in self.layers:\n            x = torch.relu(layer(x))\n"
        "        return x\n"
        "x = Net()"
    ),
    "tied weights": (
        "a, b = torch.nn.Linear(60, 60), torch.nn.Linear(60, 60)\nb.weight = a.weight\n"
        "x = torch.nn.Sequential(a, b, a)"
    ),
    "a state dict": "x = torch.nn.Linear(3, 4).state_dict()",
    "loss functions and distributions": (
        "x = [torch.nn.CrossEntropyLoss(torch.ones(3)), torch.distributions.Normal(torch.zeros(2), 1.)]"
    ),
    "data sets and loaders": (
        "from torch.utils.data import DataLoader, TensorDataset, random_split\n"
        "d = TensorDataset(torch.arange(90.), torch.arange(90))\n"
        "g = torch.Generator().manual_seed(1)\n"
        "x = [d, *random_split(d, [60, 30], generator=g), DataLoader(d, 8, shuffle=True, generator=g)]"
    ),
    "types, devices, sizes": (
        "x = [torch.float32, torch.device('cuda:1'), torch.Size([2, 3]), torch.strided,\n"
        "     torch.channels_last, torch.relu, torch.nn.functional.gelu]"
    ),
    "averaged modules and gradient scalers": (
        "x = [torch.optim.swa_utils.AveragedModel(torch.nn.Linear(2, 2)), torch.amp.GradScaler('cpu')]"
    ),
}

_OPTIMISERS = (
    "SGD Adam AdamW Adagrad Adadelta RMSprop Rprop NAdam RAdam Adamax ASGD LBFGS Adafactor"
)

_GOING_ON = """
import torch
def step(namespace):
    model, opt = namespace["model"], namespace["x"]
    def loss():
        opt.zero_grad()
        out = model(torch.ones(6)).square().sum()
        out.backward()
        return out
    opt.step(loss)
step(new)
step(old)
same(x.state_dict(), y.state_dict())
same(new["model"], old["model"])
assert x.param_groups[0]["params"][0] is new["model"].weight
"""

_BEHAVING = (
    Case(
        "recurrent modules",
        _T + "x = torch.nn.LSTM(3, 4, 2)",
        check="import torch\nsame(x.state_dict(), y.state_dict())\n"
        "same(x(torch.ones(5, 3)), y(torch.ones(5, 3)))",
        needs="torch",
    ),
    Case(
        "nested tensors",
        _T + "x = torch.nested.nested_tensor([torch.ones(2), torch.zeros(3)], layout=torch.jagged)",
        check="for a, b in zip(x.unbind(), y.unbind(), strict=True):\n"
        "    assert a.tolist() == b.tolist()\nassert x.layout == y.layout",
        needs="torch>=2.5",  # before, what tells its shape stays in it, as an address
    ),
    Case(
        "a module, its optimiser and schedule",
        _T + "model = torch.nn.Linear(6, 6)\nx = torch.optim.AdamW(model.parameters(), lr=0.1)\n"
        "schedule = torch.optim.lr_scheduler.CosineAnnealingLR(x, 10)\n"
        "for _ in range(2):\n    x.zero_grad()\n    model(torch.ones(6)).sum().backward()\n"
        "    x.step()\n    schedule.step()",
        check=_GOING_ON + "assert new['schedule'].optimizer is x\n"
        "new['schedule'].step()\nold['schedule'].step()\n"
        "assert x.param_groups[0]['lr'] == y.param_groups[0]['lr'] < 0.1",
        needs="torch",
    ),
    Case(
        "weight norm and other parametrisations",
        _T + "from torch.nn.utils import parametrizations as p\n"
        "x = [p.weight_norm(torch.nn.Linear(3, 4)), p.orthogonal(torch.nn.Linear(3, 3))]",
        check="import torch\nfor a, b in zip(x, y):\n    same(a.state_dict(), b.state_dict())\n"
        "    same(a(torch.ones(3)), b(torch.ones(3)))\n"
        "    assert type(a).__name__ == type(b).__name__",
        told=False,
        needs="torch",
    ),
    Case(
        "`torch.Generator`",
        _T + "x = torch.Generator().manual_seed(3)\ntorch.rand(3, generator=x)",
        check="import torch\nsame(x, y)\nsame(torch.rand(5, generator=x), torch.rand(5, generator=y))",
        needs="torch",
    ),
    Case(
        "hooks of modules",
        _T + "seen = []\nx = torch.nn.Linear(2, 2)\n"
        "x.register_forward_hook(lambda module, given, out: seen.append(out.shape))",
        check="import torch\nbefore = len(new['seen'])\nx(torch.ones(2))\n"
        "assert len(new['seen']) == before + 1\nassert len(x._forward_hooks) == 1",
        needs="torch",
    ),
    Case(
        "hooks of tensors",
        _T + "x = torch.ones(3, requires_grad=True)\nx.register_hook(lambda grad: grad * 2)",
        check="x.sum().backward()\nassert x.grad.tolist() == [2, 2, 2]",
        needs="torch",
    ),
    Case(
        "results of a computation",
        _T + "w = torch.ones(3, requires_grad=True)\nx = (w * 2).sum()",
        check="same(x, y)\nassert x.requires_grad and not x.is_leaf\n"
        "try:\n    x.backward()\nexcept RuntimeError as error:\n    assert 'run the cell' in str(error)\n"
        "else:\n    assert x is y or new is old, 'backward() trained nothing'",
        note="the value; `backward()` through it says that its graph is gone",
        needs="torch",
    ),
    Case(
        "scripted and traced modules",
        _T + "x = [torch.jit.trace(torch.nn.Linear(3, 4), torch.ones(3)),\n"
        "     torch.jit.script(torch.nn.Linear(3, 4))]",
        check="import torch\nfor a, b in zip(x, y):\n"
        "    assert type(a) is not torch.nn.Linear\n    same(a(torch.ones(3)), b(torch.ones(3)))",
        told=False,
        needs="torch",
    ),
    Case(
        "compiled modules",
        _T + "x = torch.compile(torch.nn.Linear(3, 4), backend='eager')",
        check="import torch\nsame(x.state_dict(), y.state_dict())\nsame(x(torch.ones(3)), y(torch.ones(3)))",
        needs="torch",
    ),
    Case(
        "a compiled function of the notebook",
        _T + "@torch.compile(backend='eager')\ndef x(a):\n    return a * 2",
        told=False,
        check="import torch\nsame(x(torch.ones(3)), y(torch.ones(3)))",
        needs="torch",
    ),
    Case(
        "an iterator of a data loader",
        _T + "x = iter(torch.utils.data.DataLoader(range(9)))\nnext(x)",
        check="same(list(x), list(y))",
        outcome="refused",
        reason="cannot be pickled",
        needs="torch",
    ),
)

CASES = (
    *(
        Case(f"tensor of {name}", f"{_T}x = torch.arange(5000).to(torch.{name})", needs="torch",
             part_of="tensors of every dtype")
        for name in _DTYPES.split()
    ),
    *(
        Case(f"tensor: {name}", f"{_T}x = {source}", needs=f"torch{_SINCE.get(name, '')}")
        for name, source in _TENSORS.items()
    ),
    *(Case(name, _T + source, needs="torch") for name, source in _STATEMENTS.items()),
    *(
        Case(f"`{name}`",
             f"{_T}model = torch.nn.Linear(6, 6)\nx = torch.optim.{name}(model.parameters())\n"
             "def loss():\n    x.zero_grad()\n    out = model(torch.ones(6)).square().sum()\n"
             "    out.backward()\n    return out\n"
             "x.step(loss)",
             check=_GOING_ON,
            needs=f"torch{_SINCE.get(name, '')}",
            part_of="every optimiser, tied to its module",)
        for name in _OPTIMISERS.split()
    ),
    *_BEHAVING,
)  # fmt: skip
