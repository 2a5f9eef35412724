import * as crypto from 'node:crypto';
import type { ClientBase, Pool } from 'pg';
import type { Database } from '#pkg/database/index';

const CONNECTIONS = 4;
const TIMEOUT_MS = 5_000;
/** An answer that has not come by then does not come: the other end of the connection is gone without a word. */
const ANSWER_TIMEOUT_MS = 6_000;
/** Key of the advisory lock of `exclusively`. */
const LOCK = 'svc access.personal_tokens';

/** Personal tokens by their SHA-256; a token has 178 random bits, so a slow hash would protect nothing more. */
export class TokenStore {
  private readonly pool: Pool;

  /** Schema `access` must be up to date. The connections are the database's to close. */
  constructor(database: Database) {
    // Of its own: every request asks, and must not wait behind longer statements.
    this.pool = database.newPool({ name: 'tokens', max: CONNECTIONS, statementTimeoutMs: TIMEOUT_MS, queryTimeoutMs: ANSWER_TIMEOUT_MS });
  }

  static hash(token: string): Buffer {
    return crypto.hash('sha256', token, 'buffer');
  }

  /** Whose valid token this is: neither expired nor revoked. */
  async findOwner(hash: Buffer): Promise<string | undefined> {
    const { rows } = await this.pool.query<{ username: string }>({
      name: 'token-owner',
      text: 'SELECT username FROM access.personal_tokens WHERE hash = $1 AND revoked IS NULL AND (expires IS NULL OR expires > now())',
      values: [hash],
    });
    return rows[0]?.username;
  }

  /** One transaction, while no other process runs one; what `work` throws undoes it. */
  async exclusively<T>(work: (tokens: TokenWriter) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    let broken = true;
    try {
      await client.query('BEGIN');
      await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [LOCK]);
      const result = await work(new TokenWriter(client));
      await client.query('COMMIT');
      broken = false;
      return result;
    } finally {
      // A connection whose transaction failed is closed, which rolls back.
      client.release(broken);
    }
  }
}

/** Changes tokens within one transaction. */
export class TokenWriter {
  private readonly client: ClientBase;

  constructor(client: ClientBase) {
    this.client = client;
  }

  /** Has this user any token, be it valid or not? */
  async hasAny(username: string): Promise<boolean> {
    const { rows } = await this.client.query('SELECT 1 FROM access.personal_tokens WHERE username = $1 LIMIT 1', [username]);
    return rows.length > 0;
  }

  /** Does a token stand for this user, be it valid or not? */
  async has(username: string, token: string): Promise<boolean> {
    const { rows } = await this.client.query('SELECT 1 FROM access.personal_tokens WHERE username = $1 AND hash = $2', [username, TokenStore.hash(token)]);
    return rows.length > 0;
  }

  /** Adds a token; one that is there stays as it is, a revoked one revoked. */
  async add({ name, username, token }: { name: string; username: string; token: string }): Promise<void> {
    await this.client.query('INSERT INTO access.personal_tokens (name, username, hash) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING', [
      name,
      username,
      TokenStore.hash(token),
    ]);
  }
}
