"""Relative entropy, natural gradient, flows, geodesics and centroids."""
