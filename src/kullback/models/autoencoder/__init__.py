"""Variational autoencoders of any table, with a posterior by Fisher scoring."""

from kullback.models.autoencoder._encoder import Encoder
from kullback.models.autoencoder._model import VariationalAutoencoder

__all__ = ["Encoder", "VariationalAutoencoder"]
