"""
Denoise an image of counts
==========================

Total variation denoising approximates an image by pieces of constant value
(:class:`~adasadmm.TotalVariationDenoiser`), so that edges stay sharp. With another loss the same model suits other
noise: here counts of photons, whose variance grows with brightness.

The image is generated: a bright disc and a dark bar.
"""

import matplotlib.pyplot as plt
import numpy as np

from adasadmm import TotalVariationDenoiser

side = 96
rng = np.random.default_rng(0)
row, column = np.mgrid[:side, :side]
rate = np.full((side, side), 4.0)
rate[(row - 35) ** 2 + (column - 38) ** 2 < 22**2] = 12.0
rate[64:80, 20:84] = 1.0
counts = rng.poisson(rate).astype(float)

# %%
# The squared loss treats all counts equally. With the Poisson loss a dark region has less noise than a bright one;
# its coefficients are logarithms of rates, and ``image_`` holds the rates.

gauss = TotalVariationDenoiser(alpha=4.0 / counts.size).fit(counts)
poisson = TotalVariationDenoiser(alpha=2.5 / counts.size, loss="poisson").fit(counts)
print(poisson.summary())

# %%
# The strengths were chosen by eye.

figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
pictures = (
    ("truth", rate),
    ("counts", counts),
    ("squared loss", gauss.image_),
    ("Poisson loss", poisson.image_),
)
for ax, (title, image) in zip(axes, pictures, strict=True):
    drawn = ax.imshow(image, cmap="viridis", vmin=0, vmax=15)
    ax.set(title=title, xticks=[], yticks=[])
for ax, model in zip(axes[2:], (gauss, poisson), strict=True):
    error = np.sqrt(np.mean((model.image_ - rate) ** 2))
    ax.set_xlabel(f"error {error:.2f}, {model.n_pieces_} pieces")
figure.colorbar(drawn, ax=axes, label="photons", shrink=0.8)
plt.show()

# %%
# A fitted model also has the pieces themselves: ``labels_`` numbers them, and ``change_points_`` marks the pixels
# at which a new piece begins.

figure, axes = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
axes[0].imshow(poisson.labels_ % 20, cmap="tab20")
axes[1].imshow(poisson.change_points_, cmap="Greys")
for ax, title in zip(axes, ("labels_ (colours repeat)", "change_points_"), strict=True):
    ax.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# Total variation is the length of a border times its height, so borders between nearly equal values cost little: there
# are more pieces than the three regions, but most of them differ by little.
