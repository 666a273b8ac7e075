"""Estimators of streams that learn online, with constant memory."""
