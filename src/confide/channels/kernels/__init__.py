"""Probabilities of displacements under translation-invariant noise."""

from confide.channels.kernels.planar import DEEPEST, PlanarKernel, planar_geometric_kernel, planar_laplace_kernel

__all__ = ["DEEPEST", "PlanarKernel", "planar_geometric_kernel", "planar_laplace_kernel"]
