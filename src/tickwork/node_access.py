"""Who may use a node: API keys, sessions of browsers, and the answers kept for idempotency keys."""

from tickwork.access.api_keys import ApiKeys
from tickwork.access.purge_tenants import Tenants
from tickwork.access.sessions import Sessions
from tickwork.loop import Loops
from tickwork.store.browser_session_store import PostgresSessionStore
from tickwork.store.idempotency_store import PostgresIdempotencyStore
from tickwork.store.pool import Database
from tickwork.store.purge_tenant_store import PostgresTenantPurgeStore
from tickwork.store.tenant_and_key_store import PostgresAccessStore


class NodeAccess:
    def __init__(self, database: Database, access: PostgresAccessStore, loops: Loops) -> None:
        self.keys = ApiKeys(access)
        self.sessions = Sessions(PostgresSessionStore(database), self.keys)
        self.idempotency = PostgresIdempotencyStore(database)
        self.tenants = Tenants(access, PostgresTenantPurgeStore(database), self.keys.forget_valid)
        loops.add("record key use", self.keys.note_use, every=30)
        loops.add("update sessions", self.sessions.update, every=30)
        self.tenants.add_loops(loops)
        loops.add("expire idempotency keys", self.idempotency.delete_old, every=600)
