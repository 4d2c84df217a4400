"""A Page as an item: what Scrapy's feeds and anybody's pipelines see of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from itemadapter.adapter import AdapterInterface, ItemAdapter

from webcrawler.items import Page

if TYPE_CHECKING:
    from collections.abc import Iterator, KeysView


class PageAdapter(AdapterInterface):
    """Lets Scrapy's feeds and pipelines see a page as an item with these fields."""

    FIELDS = (
        "url",
        "status",
        "content_type",
        "depth",
        "via",
        "title",
        "fetched_at",
        "digest",
        "links",
        "noindex",
    )

    @classmethod
    def is_item_class(cls, item_class: type) -> bool:
        return issubclass(item_class, Page)

    @classmethod
    def get_field_names_from_class(cls, item_class: type) -> list[str]:
        return list(cls.FIELDS)

    def __getitem__(self, name: str) -> Any:
        page: Page = self.item
        match name:
            case "content_type":
                return page.mime
            case "fetched_at":
                return datetime.fromtimestamp(page.fetched_at, UTC).isoformat()
            case "digest":
                return f"{page.digest:016x}"
            case "links":
                return len(page.links)
            case "noindex":
                return page.is_noindex
        if name in self.FIELDS:
            return getattr(page, name)
        raise KeyError(name)

    def __setitem__(self, name: str, value: Any) -> None:
        raise KeyError(f"a Page is not changed through its fields: {name}")

    def __delitem__(self, name: str) -> None:
        raise KeyError(f"a Page is not changed through its fields: {name}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.FIELDS)

    def __len__(self) -> int:
        return len(self.FIELDS)

    def field_names(self) -> KeysView[str]:
        return dict.fromkeys(self.FIELDS).keys()


def register() -> None:
    """Make pages items for everything that uses itemadapter."""
    if PageAdapter not in ItemAdapter.ADAPTER_CLASSES:
        ItemAdapter.ADAPTER_CLASSES = (PageAdapter, *ItemAdapter.ADAPTER_CLASSES)
