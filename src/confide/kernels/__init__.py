"""Probabilities of displacements under translation-invariant noise."""

from confide.kernels.planar import PlanarKernel, planar_geometric_kernel, planar_laplace_kernel

__all__ = ["PlanarKernel", "planar_geometric_kernel", "planar_laplace_kernel"]
