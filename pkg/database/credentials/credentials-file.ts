import { readFileSync, statSync } from 'node:fs';
import { messageOf } from '../database-error.ts';
import type { DatabaseLog } from '../log.ts';

/** Credentials that were refused are not tried again for so long, if others may be accepted. Milliseconds. */
const retryMs = 1_000;
/** Of one caller. Other connections, begun before a password changed, may be refused meanwhile. */
const maxRetries = 4;
const maxFileBytes = 64 * 1024;

export interface CredentialsFileOptions {
  /** Holds the url of the database and nothing else. */
  file: string;
  /** The url as it was at the start; also says where the database is, which never changes. */
  url: string;
  /** Makes a connection string of a url. Throws DatabaseError, without the url in its message. */
  parse: (url: string) => string;
  log: DatabaseLog;
}

/**
 * User and password of the database, read again from the file of its url for each new connection, so that an operator
 * can replace a password while the process runs. As long as PostgreSQL refuses the new credentials, the last ones that
 * it accepted stay in use: the file may change before the role does. A file that cannot be read, or that names another
 * host, database or parameter, changes nothing, which is logged once.
 */
export class CredentialsFile {
  readonly #options: CredentialsFileOptions;
  /** The connection string that was accepted last; at first that of the start. */
  #used: string;
  #text: string;
  /** The connection string of `#text`. */
  #newest: string;
  /** Until when each counts as refused, by `performance.now()`. */
  #newestRefusedUntil = 0;
  #usedRefusedUntil = 0;
  #isRefusalTold = false;
  /** When it was last open which credentials are accepted, by `performance.now()`. */
  #openAt = -Infinity;
  #lastReason: string | undefined;

  constructor(options: CredentialsFileOptions) {
    this.#options = options;
    this.#text = options.url;
    this.#used = this.#newest = options.parse(options.url);
  }

  /** The connection string for a connection that is made now. */
  current(): string {
    this.#read();
    const now = performance.now();
    return now < this.#newestRefusedUntil && now >= this.#usedRefusedUntil ? this.#used : this.#newest;
  }

  /** PostgreSQL let somebody in by this connection string. */
  accepted(connectionString: string): void {
    if (connectionString !== this.#newest || connectionString === this.#used) return;
    this.#used = connectionString;
    // A refusal from before may arrive now.
    this.#openAt = performance.now();
    this.#options.log.info({ file: this.#options.file }, 'using the new user and password of the database');
  }

  /** PostgreSQL refused the user or the password of this connection string. */
  refused(connectionString: string): void {
    if (connectionString === this.#newest && connectionString === this.#used) return;
    this.#openAt = performance.now();
    const until = this.#openAt + retryMs;
    if (connectionString !== this.#newest) {
      // Perhaps the password has just changed: a refusal of the new one may be older than that.
      this.#usedRefusedUntil = until;
      this.#newestRefusedUntil = 0;
      return;
    }
    this.#newestRefusedUntil = until;
    if (this.#isRefusalTold) return;
    this.#isRefusalTold = true;
    this.#options.log.warn(
      { file: this.#options.file },
      'the database refuses the new user and password; the ones before stay in use',
    );
  }

  /**
   * Connects again, at most four times, if it was open a moment ago which credentials are accepted. A moment, because
   * callers share one look for a host.
   */
  async withRetries<T>(connect: () => Promise<T>): Promise<T> {
    for (let retries = maxRetries; ; retries -= 1) {
      const begun = performance.now();
      try {
        return await connect();
      } catch (error) {
        if (retries === 0 || this.#openAt < begun - retryMs) throw error;
      }
    }
  }

  #read(): void {
    const { file, parse, url } = this.#options;
    try {
      // A pipe has been read at the start, and would now block.
      if (!statSync(file).isFile()) return;
      const content = readFileSync(file);
      if (content.length > maxFileBytes) throw new Error(`the file has ${content.length} bytes`);
      const text = content.toString('utf8').trim();
      if (text !== this.#text) {
        if (addressOf(text) !== addressOf(url))
          throw new Error('it differs in more than user and password, which needs a restart');
        this.#newest = parse(text);
        this.#text = text;
        this.#newestRefusedUntil = 0;
        this.#isRefusalTold = false;
      }
      this.#lastReason = undefined;
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== this.#lastReason)
        this.#options.log.warn(
          { file, reason },
          'the new url of the database cannot be used; the one before stays in use',
        );
      this.#lastReason = reason;
    }
  }
}

/** The url without user and password, which end at the only @ before the path. */
function addressOf(url: string): string {
  return url.replace(/^(postgres(?:ql)?:\/\/)[^@/?#]*@/, '$1');
}
