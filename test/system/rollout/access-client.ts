import { setTimeout as delay } from 'node:timers/promises';
import { NoAnswer, ApiClient, type ApiAnswer, type ApiRequest } from '../harness/client/api-client.ts';
import { now } from '../harness/history/instant.ts';

const tokensPath = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';
/** A user's requests are limited per minute; this rate is below. Milliseconds. */
const pauseMs = 200;

export interface AccessClientOptions {
  id: number;
  accessPort: number;
  platformPort: number;
  adminToken: string;
  password: string;
}

/** A request with an unexpected result. */
export interface AccessFailure {
  at: number;
  invoked: number;
  what: string;
}

/**
 * Repeatedly logs in, reads its profile, creates a personal token, uses it on the platform, revokes it, and uses it
 * once more: a change on one replica of one service must apply at once on all replicas of the other.
 */
export class AccessClient {
  readonly failures: AccessFailure[] = [];
  readonly #options: AccessClientOptions;
  readonly #api = new ApiClient();
  #done = 0;
  #turn = 0;
  #isOver = false;
  #work: Promise<void> = Promise.resolve();

  constructor(options: AccessClientOptions) {
    this.#options = options;
  }

  /** Requests with the expected result. */
  get done(): number {
    return this.#done;
  }

  start(): void {
    this.#work = this.#run();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#work;
    this.#api.close();
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      await this.#turnAround();
      await delay(pauseMs);
    }
  }

  async #turnAround(): Promise<void> {
    const { accessPort, platformPort, password, id } = this.#options;
    const administrator = { authorization: `Bearer ${this.#options.adminToken}` };
    this.#turn += 1;
    const login = await this.#ask('a login', 201, {
      port: accessPort,
      method: 'POST',
      path: '/api/v1/authentication/auth/',
      body: JSON.stringify({ username: 'admin', password }),
    });
    if (login === undefined) return;
    const { token } = JSON.parse(login.text) as { token: string };
    await this.#ask('the profile with the token of a login', 200, {
      port: accessPort,
      path: '/api/v1/users/profile/',
      headers: { authorization: `Bearer ${token}` },
    });
    const name = `rollout-${id}-${this.#turn}`;
    const body = JSON.stringify({ metadata: { name }, spec: { displayName: name, expiresAt: '2099-01-01T00:00:00Z' } });
    const made = await this.#ask('the making of a personal token', 201, {
      port: platformPort,
      method: 'POST',
      path: tokensPath,
      body,
      headers: administrator,
    });
    if (made === undefined) return;
    const authorization = `Bearer ${(JSON.parse(made.text) as { status: { token: string } }).status.token}`;
    await this.#ask('a new personal token', 200, {
      port: platformPort,
      path: '/api/v1/namespaces/default',
      headers: { authorization },
    });
    await delay(pauseMs);
    const revoked = await this.#ask('the revocation of a personal token', 200, {
      port: platformPort,
      method: 'PUT',
      path: `${tokensPath}/${name}/actions/revocation`,
      headers: administrator,
    });
    if (revoked === undefined) return;
    await this.#ask('a revoked personal token', 401, {
      port: platformPort,
      path: '/api/v1/namespaces/default',
      headers: { authorization },
    });
    // A user may have at most a hundred.
    await this.#ask('the deletion of a personal token', 200, {
      port: platformPort,
      method: 'DELETE',
      path: `${tokensPath}/${name}`,
      headers: administrator,
    });
  }

  async #ask(what: string, wanted: number, request: ApiRequest): Promise<ApiAnswer | undefined> {
    const invoked = now();
    const fail = (text: string): undefined => void this.failures.push({ at: now(), invoked, what: `${what}: ${text}` });
    try {
      const answer = await this.#api.request(request);
      if (answer.status !== wanted) return fail(`${answer.status} ${answer.text.slice(0, 200)}`);
      this.#done += 1;
      return answer;
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      return fail(error.message);
    }
  }
}
