"""Gibbs sampling of tokens' labels."""
