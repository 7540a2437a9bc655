"""Makes the Python of a browser ready for a chapter: book/lite.py puts this file into the JupyterLite site."""

from importlib import metadata

SHIPPED = ("array-api-compat", "ipywidgets")  # with the site
FETCHED = ("numpy", "scipy", "matplotlib", "scikit-learn", "altair", "jsonschema", "pyyaml", "tqdm")


async def ready():
    """Load what the chapters and `helpers` import. Raises ConnectionError that names what could not be fetched."""
    import pyodide_js

    print("Fetching NumPy, SciPy and what else a chapter imports: tens of megabytes, the first time.")
    await pyodide_js.loadPackage([*SHIPPED, *FETCHED])  # says in the log what failed, and does not raise
    missing = [name for name in FETCHED if version(name) is None]
    if missing:
        raise ConnectionError(
            f"{', '.join(missing)} could not be fetched. To run a chapter here, the browser must reach the public "
            "address that has them; to read it, nothing is needed. Restart the kernel to try again."
        )
    print("Ready:", ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy")))


def version(name):
    """The version of an installed package, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
