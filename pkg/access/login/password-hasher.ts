import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { hash, parseOptions, verify } from '@node-rs/argon2';
import { HashingQueue } from './hashing-queue.ts';

export interface PasswordHasherOptions {
  /** Memory of one hash, in KiB. Default 19456 (19 MiB). Source: OWASP Password Storage Cheat Sheet. */
  memoryKiB?: number;
  /** Default 2. */
  passes?: number;
  /** Threads of one hash. Default 1. */
  lanes?: number;
  /**
   * Maximum concurrent hashes. Default: half of the processors, divided by `processes`, at least 1. They run on the
   * thread pool that file access, DNS and compression also need.
   */
  maxRunning?: number;
  /** Processes that share the processors, for the default of `maxRunning`. Default 1. */
  processes?: number;
  /** Maximum hashes that wait; another one is refused. Default 64. */
  maxWaiting?: number;
}

export interface PasswordCheck {
  isCorrect: boolean;
  /** The password is right, but its hash has weaker parameters than the current ones: hash it again. */
  needsRehash?: boolean;
}

type Cost = Required<Pick<PasswordHasherOptions, 'memoryKiB' | 'passes' | 'lanes'>>;

/** Longest text that is checked: 256 characters of four units; a longer one is never a valid password. */
const maxPasswordLength = 1024;
// A const enum in the library's types, which single files cannot read: Argon2id.
const argon2idType = 2;

/**
 * Hashes passwords with Argon2id, in PHC format. Unicode is normalised (NFKC, as NIST SP 800-63B advises), so that the
 * same keys typed on another device give the same password. Never runs on the event loop; all callers share
 * `maxRunning` slots, first come, first served. Throws TooManyPasswordsError if too many wait.
 */
export class PasswordHasher {
  readonly #cost: Cost;
  readonly #queue: HashingQueue;
  /** A hash of no password, which costs as much work as a real one. */
  readonly #decoyHash: string;

  constructor({
    memoryKiB = 19_456,
    passes = 2,
    lanes = 1,
    processes = 1,
    maxRunning = Math.max(1, Math.floor(availableParallelism() / 2 / processes)),
    maxWaiting = 64,
  }: PasswordHasherOptions = {}) {
    this.#cost = { memoryKiB, passes, lanes };
    this.#queue = new HashingQueue({ maxRunning, maxWaiting });
    this.#decoyHash = `$argon2id$v=19$m=${memoryKiB},t=${passes},p=${lanes}$${base64(16)}$${base64(32)}`;
  }

  /** The password must have passed `checkPasswordRules`. */
  hash(password: string): Promise<string> {
    const { memoryKiB, passes, lanes } = this.#cost;
    return this.#queue.run(() =>
      hash(normalize(password), {
        algorithm: argon2idType,
        memoryCost: memoryKiB,
        timeCost: passes,
        parallelism: lanes,
      }),
    );
  }

  /** Does the password match the hash? False for an absent hash or one of unknown format, after the same work. */
  async verify(stored: string | undefined, password: string): Promise<PasswordCheck> {
    const cost = stored === undefined ? undefined : costOf(stored);
    const isPossible = cost !== undefined && password.length <= maxPasswordLength;
    const matches = await this.#queue.run(() =>
      verify(isPossible ? stored! : this.#decoyHash, isPossible ? normalize(password) : ''),
    );
    if (!isPossible || !matches) return { isCorrect: false };
    return isLess(cost, this.#cost) ? { isCorrect: true, needsRehash: true } : { isCorrect: true };
  }
}

function costOf(stored: string): Cost | undefined {
  try {
    const { algorithm, memoryCost, timeCost, parallelism } = parseOptions(stored);
    // Hashes of another variant count as weakest.
    return (algorithm as number) === argon2idType
      ? { memoryKiB: memoryCost, passes: timeCost, lanes: parallelism }
      : { memoryKiB: 0, passes: 0, lanes: 0 };
  } catch {
    return undefined;
  }
}

function isLess(cost: Cost, wanted: Cost): boolean {
  return cost.memoryKiB < wanted.memoryKiB || cost.passes < wanted.passes || cost.lanes < wanted.lanes;
}

/** Longer texts are left as they are, as the time grows with the square of a run of combining marks. */
const normalize = (password: string): string =>
  password.length > maxPasswordLength ? password : password.normalize('NFKC');
const base64 = (bytes: number): string => randomBytes(bytes).toString('base64').replaceAll('=', '');
