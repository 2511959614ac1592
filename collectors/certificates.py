"""When the certificate of a server is checked."""


def is_verified(url: str) -> bool:
    """Whether the server has a certificate to check; else to read those one trusts costs 16 ms.

    No client follows a redirect, so plain HTTP stays that.
    """
    return not url.startswith("http://")
