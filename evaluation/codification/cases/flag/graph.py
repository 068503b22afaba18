"""A generated graph with the layout of ogbn-arxiv (features, edges, years, labels), and layers of torch alone."""

import torch

NODES, FEATURES, CLASSES, NEIGHBOURS = 1200, 128, 12, 6


class Data:
    """`x` of shape (nodes, features), `y` of shape (nodes, 1), `adj_t` a sparse symmetric matrix."""

    def __init__(self, x, y, adj_t):
        self.x, self.y, self.adj_t = x, y, adj_t
        self.num_features = x.shape[1]

    def to(self, device):
        self.x, self.y, self.adj_t = self.x.to(device), self.y.to(device), self.adj_t.to(device)
        return self


class Dataset:
    """Papers of classes: neighbours are mostly of one's class, features are noisy means, splits go by year."""

    def __init__(self, name):  # noqa: ARG002 - as that of ogb
        rng = torch.Generator().manual_seed(11)
        self.num_classes = CLASSES
        label = torch.randint(CLASSES, (NODES,), generator=rng)
        means = 0.25 * torch.randn(CLASSES, FEATURES, generator=rng)
        x = means[label] + torch.randn(NODES, FEATURES, generator=rng)
        source = torch.arange(NODES).repeat_interleave(NEIGHBOURS)
        target = torch.randint(NODES, (NODES * NEIGHBOURS,), generator=rng)
        same = torch.rand(NODES * NEIGHBOURS, generator=rng) < 0.35
        order = torch.argsort(label)
        start = torch.searchsorted(label[order].contiguous(), torch.arange(CLASSES))
        count = torch.bincount(label, minlength=CLASSES)
        pick = (torch.rand(NODES * NEIGHBOURS, generator=rng) * count[label[source]]).long()
        target = torch.where(same, order[start[label[source]] + pick], target)
        pairs = torch.cat([torch.stack([source, target]), torch.stack([target, source])], dim=1)
        adj_t = torch.sparse_coo_tensor(pairs, torch.ones(pairs.shape[1]), (NODES, NODES)).coalesce()
        adj_t = torch.sparse_coo_tensor(adj_t.indices(), torch.ones(adj_t.values().shape[0]), (NODES, NODES)).coalesce()
        self._data = Data(x, label.unsqueeze(1), adj_t)
        self._year = torch.randint(10, (NODES,), generator=rng)

    def __getitem__(self, number):
        return self._data

    def get_idx_split(self):
        def years(*of):
            return torch.isin(self._year, torch.tensor(of)).nonzero().squeeze(1)

        return {"train": years(0, 1, 2, 3, 4), "valid": years(5, 6), "test": years(7, 8, 9)}


class Evaluator:
    def __init__(self, name):
        pass

    def eval(self, given):
        return {"acc": (given["y_true"] == given["y_pred"]).float().mean().item()}


class GCNConv(torch.nn.Module):
    """Mean over neighbours and oneself with symmetric normalization, after a linear map."""

    def __init__(self, in_channels, out_channels, cached=False):  # noqa: ARG002 - as that of torch_geometric
        super().__init__()
        self.linear = torch.nn.Linear(in_channels, out_channels)

    def reset_parameters(self):
        self.linear.reset_parameters()

    def forward(self, x, adj_t):
        degree = torch.sparse.sum(adj_t, dim=1).to_dense() + 1
        scale = degree.pow(-0.5).unsqueeze(1)
        x = scale * self.linear(x)
        return scale * (torch.sparse.mm(adj_t, x) + x)


class SAGEConv(torch.nn.Module):
    """A linear map of oneself and one of the mean of the neighbours."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.own = torch.nn.Linear(in_channels, out_channels)
        self.others = torch.nn.Linear(in_channels, out_channels, bias=False)

    def reset_parameters(self):
        self.own.reset_parameters()
        self.others.reset_parameters()

    def forward(self, x, adj_t):
        degree = torch.sparse.sum(adj_t, dim=1).to_dense().clamp(min=1).unsqueeze(1)
        return self.own(x) + self.others(torch.sparse.mm(adj_t, x) / degree)
