"""The package: metadata, extras, and the entry point and data files Scrapyd's egg needs."""

from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
REQUIREMENTS = [
    line
    for line in (HERE / "requirements.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]

setup(
    name="webcrawler",
    version="0.1.0",
    description="Scrapy, turned into a search-engine-class crawler",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="BSD-3-Clause",
    python_requires=">=3.11",
    packages=find_packages(include=["webcrawler", "webcrawler.*"]),
    package_data={"webcrawler": ["py.typed", "**/*.lua", "**/*.html", "**/*.css", "**/*.json"]},
    include_package_data=True,
    zip_safe=False,
    install_requires=REQUIREMENTS,
    extras_require={
        "test": [
            "pytest>=8,<10",
            "pytest-xdist>=3.6,<4",
            "hypothesis>=6.100,<7",
            "mypy>=1.13,<3",
            "ruff>=0.8,<1",
            "scrapyd>=1.6,<2",
            "scrapyd-client>=2.0.3,<3",
            "setuptools>=68,<81",  # Scrapyd 1.6 needs pkg_resources, and later ones warn of it
            "warcio>=1.7.5,<2",
        ],
    },
    entry_points={"scrapy": ["settings = webcrawler.settings"]},
    classifiers=[
        "Framework :: Scrapy",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Internet :: WWW/HTTP :: Indexing/Search",
    ],
)
