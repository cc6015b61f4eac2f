"""Regression of private values: outcomes and covariates that were blurred."""
