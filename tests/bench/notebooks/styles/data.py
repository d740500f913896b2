"""Styles of notebooks that work on data: tables, models, figures."""

from __future__ import annotations

DATA = {
    "pandas_exploration": """
import numpy as np
import pandas as pd
rng = np.random.default_rng(7)
---
sales = pd.DataFrame({
    "day": pd.date_range("2024-01-01", periods=120),
    "shop": rng.choice(["north", "south", "east"], 120),
    "units": rng.poisson(20, 120),
    "price": rng.normal(9.5, 1.2, 120).round(2),
})
sales.head()
---
sales.describe()
---
sales["revenue"] = sales.units * sales.price
sales.isna().sum()
---
by_shop = sales.groupby("shop").agg(units=("units", "sum"), revenue=("revenue", "mean"))
by_shop
---
monthly = sales.set_index("day").resample("ME").revenue.sum()
monthly
---
wide = sales.pivot_table(index=sales.day.dt.month, columns="shop", values="units", aggfunc="sum")
wide.style.format("{:.0f}")
---
top = sales.nlargest(3, "revenue")[["day", "shop", "revenue"]]
print(top.to_string())
---
merged = sales.merge(by_shop, on="shop", suffixes=("", "_total"))
merged["share"] = merged.units / merged.units_total
merged.share.groupby(merged.shop).sum().round(6)
""",
    "sklearn_pipeline": """
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
---
X, y = make_classification(400, 8, random_state=3)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=3)
X_train.shape, X_test.shape
---
pipe = make_pipeline(StandardScaler(), LogisticRegression())
pipe
---
pipe.fit(X_train, y_train)
---
print(f"{pipe.score(X_test, y_test):.4f}")
---
scores = cross_val_score(pipe, X_train, y_train, cv=4)
scores.round(4)
---
search = GridSearchCV(pipe, {"logisticregression__C": [0.1, 1, 10]}, cv=3)
search.fit(X_train, y_train)
search.best_params_
---
from sklearn.metrics import classification_report
print(classification_report(y_test, search.predict(X_test)))
---
errors = X_test[search.predict(X_test) != y_test]
len(errors)
""",
    "torch_training": """
import torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
---
X = torch.randn(256, 4)
target = (X @ torch.tensor([1.0, -2.0, 0.5, 3.0])).unsqueeze(1) + 0.1 * torch.randn(256, 1)
---
class Net(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x)

net = Net()
---
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
loss_of = nn.MSELoss()
history = []
---
for epoch in range(20):
    order = torch.randperm(len(X))
    for batch in order.split(64):
        optimizer.zero_grad()
        loss = loss_of(net(X[batch]), target[batch])
        loss.backward()
        optimizer.step()
    history.append(loss.item())
print(f"{history[-1]:.6f}")
---
net.eval()
with torch.no_grad():
    final = loss_of(net(X), target).item()
final
---
for group in optimizer.param_groups:
    group["lr"] /= 10
net.train()
for epoch in range(5):
    optimizer.zero_grad()
    loss = loss_of(net(X), target)
    loss.backward()
    optimizer.step()
    history.append(loss.item())
len(history)
---
torch.save(net.state_dict(), "net.pt")
again = Net()
again.load_state_dict(torch.load("net.pt"))
---
all(torch.equal(a, b) for a, b in zip(again.state_dict().values(), net.state_dict().values()))
""",
    "matplotlib_figures": """
%matplotlib inline
import matplotlib.pyplot as plt
import numpy as np
---
x = np.linspace(0, 6, 80)
plt.plot(x, np.sin(x), label="sin")
plt.legend()
---
fig, axes = plt.subplots(1, 2, figsize=(6, 2.5))
axes[0].plot(x, x ** 2)
axes[1].hist(np.random.default_rng(0).normal(size=200), bins=20);
---
axes[0].set_title("squares")
fig.suptitle("two")
fig
---
for power in (1, 2):
    plt.figure(figsize=(2, 2))
    plt.plot(x, x ** power)
plt.show()
---
grid = np.add.outer(np.arange(5), np.arange(5))
image = plt.imshow(grid, cmap="magma")
plt.colorbar(image);
---
fig.savefig("two.png")
import os
os.path.getsize("two.png") > 1000
""",
    "rc_params": """
import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib import rcParams
---
rcParams["lines.linewidth"] = 3
rcParams["axes.grid"] = True
mpl.rc("font", size=8)
---
plt.plot([1, 2, 4]);
---
with plt.style.context("ggplot"):
    plt.plot([3, 1, 2])
    plt.show()
---
plt.style.use("dark_background")
---
plt.bar([1, 2, 3], [3, 1, 2]);
---
rcParams["lines.linewidth"], rcParams["axes.facecolor"]
---
plt.rcdefaults()
plt.Line2D([0], [0]).get_linewidth()
""",
    "numpy_linear_algebra": """
import numpy as np
np.set_printoptions(precision=4, suppress=True)
---
rng = np.random.default_rng(1)
A = rng.normal(size=(5, 5))
b = rng.normal(size=5)
---
x = np.linalg.solve(A, b)
np.allclose(A @ x, b)
---
U, s, Vt = np.linalg.svd(A)
s
---
low = (U[:, :2] * s[:2]) @ Vt[:2]
np.linalg.norm(A - low).round(4)
---
Q, R = np.linalg.qr(A)
Q.T @ Q
---
view = A[1:3]
view *= 2
A.sum().round(4)
---
eigen = np.linalg.eigvals(A @ A.T)
np.sort(eigen)
---
power = np.ones(5)
for _ in range(50):
    power = A.T @ A @ power
    power /= np.linalg.norm(power)
power
""",
    "statsmodels_formulas": """
import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
np.random.seed(5)
---
data = pd.DataFrame({"dose": np.repeat([1.0, 2.0, 4.0], 20), "group": ["a", "b"] * 30})
data["answer"] = 2 * data.dose + (data.group == "b") + np.random.normal(0, 0.5, 60)
---
fit = smf.ols("answer ~ dose + C(group)", data).fit()
fit.params.round(4)
---
print(fit.summary().tables[1])
---
def squared(v):
    return (v - 2) ** 2

curved = smf.ols("answer ~ dose + squared(dose)", data).fit()
curved.rsquared.round(6)
---
new = pd.DataFrame({"dose": [3.0], "group": ["a"]})
fit.predict(new).round(4)
---
import patsy
endog, exog = patsy.dmatrices("answer ~ dose", data)
---
exog.design_info.column_names, endog.shape
---
residuals = fit.resid
residuals.std().round(6)
""",
    "polars_frames": """
import polars as pl
---
df = pl.DataFrame({"city": ["Oslo", "Rome", "Oslo", "Lima"], "temp": [3.5, 18.0, 4.5, 20.0], "n": [1, 2, 3, 4]})
df
---
df.group_by("city", maintain_order=True).agg(pl.col("temp").mean(), pl.len())
---
lazy = df.lazy().filter(pl.col("temp") > 4).with_columns((pl.col("n") * 10).alias("n10"))
lazy.collect()
---
df.write_csv("cities.csv")
back = pl.read_csv("cities.csv")
back.equals(df)
---
pl.Config.set_tbl_rows(2)
df
---
joined = df.join(pl.DataFrame({"city": ["Oslo", "Rome"], "land": ["NO", "IT"]}), on="city", how="left")
joined
---
df[0, "temp"] = -1.0
df["temp"].min()
""",
    "duckdb_sql": """
import duckdb
import pandas as pd
orders = pd.DataFrame({"id": [1, 2, 3], "who": ["ann", "bob", "ann"], "total": [10.0, 5.5, 2.5]})
---
duckdb.sql("select who, sum(total) as s from orders group by who order by who").df()
---
con = duckdb.connect()
con.execute("create table notes as select 1 as id, 'first' as text");
---
con.execute("insert into notes values (2, 'second')")
con.execute("select * from notes order by id").fetchall()
---
orders["total"] *= 2
duckdb.sql("select max(total) from orders").fetchall()
---
con.register("orders_view", orders)
con.sql("select count(*) from orders_view").fetchall()
---
orders.to_parquet("orders.parquet")
duckdb.sql("select sum(total) from 'orders.parquet'").fetchall()
---
relation = duckdb.sql("select * from orders where total > 6")
---
relation.fetchall()
---
con.close()
""",
    "networkx_graphs": """
import networkx as nx
G = nx.karate_club_graph()
G.number_of_nodes(), G.number_of_edges()
---
degrees = dict(G.degree())
sorted(degrees.items(), key=lambda item: -item[1])[:3]
---
centrality = nx.betweenness_centrality(G)
max(centrality, key=centrality.get)
---
from networkx.algorithms import community
groups = community.greedy_modularity_communities(G)
[len(group) for group in groups]
---
nx.set_node_attributes(G, {n: i for i, g in enumerate(groups) for n in g}, "group")
G.nodes[0]
---
positions = nx.spring_layout(G, seed=4)
---
import matplotlib.pyplot as plt
nx.draw(G, positions, node_size=30, node_color=[G.nodes[n]["group"] for n in G]);
---
tree = nx.minimum_spanning_tree(G)
tree.number_of_edges()
""",
    "sympy_algebra": """
from sympy import *
x, y = symbols("x y")
init_printing()
---
expression = (x + y) ** 3
expand(expression)
---
diff(sin(x) * exp(x), x)
---
area = integrate(exp(-x ** 2), (x, -oo, oo))
area
---
solve(x ** 2 - 5 * x + 6, x)
---
M = Matrix([[1, x], [y, 1]])
M.det()
---
f = lambdify(x, x ** 2 + 1)
f(3)
---
series(cos(x), x, 0, 6)
---
n = Function("n")
dsolve(n(x).diff(x) - n(x), n(x))
""",
    "labelled_arrays": """
import numpy as np
grid = {"temp": np.arange(12.0).reshape(3, 4), "lat": [10, 20, 30], "lon": [1, 2, 3, 4]}
---
class Labelled:
    def __init__(self, values, **axes):
        self.values, self.axes = values, axes

    def sel(self, **where):
        index = tuple(self.axes[n].index(where[n]) if n in where else slice(None) for n in self.axes)
        return self.values[index]

temp = Labelled(grid["temp"], lat=grid["lat"], lon=grid["lon"])
---
temp.sel(lat=20)
---
temp.sel(lat=20)[:] = 0
grid["temp"].sum()
---
anomalies = Labelled(temp.values - temp.values.mean(axis=1, keepdims=True), **temp.axes)
anomalies.sel(lon=4)
---
masked = np.ma.masked_less(temp.values, 1)
masked.mean()
---
stacked = np.stack([temp.values, anomalies.values])
stacked.shape
""",
}
"""Cells by the style's name, a line ``---`` between two."""
