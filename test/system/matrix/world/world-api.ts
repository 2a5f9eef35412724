import { setTimeout as delay } from 'node:timers/promises';
import type { ServerName } from '../wire/matrix-request.ts';
import type { MatrixClient } from '../wire/matrix-client.ts';
import type { SessionCookies } from '../wire/credential-store.ts';

const untilMs = 30_000;
const pauseMs = 50;

export interface WorldCall {
  readonly server?: ServerName;
  readonly token?: string;
  readonly session?: SessionCookies;
  readonly body?: object;
}

/** The servers' APIs for preparing the world: any failure is an error. */
export class WorldApi {
  readonly #client: MatrixClient;
  readonly #adminToken: string;

  constructor(client: MatrixClient, adminToken: string) {
    this.#client = client;
    this.#adminToken = adminToken;
  }

  async access<T>(method: string, target: string, { token, session, body }: WorldCall): Promise<T> {
    return this.#demand<T>('access', {
      method,
      target,
      body,
      headers: {
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...(session === undefined ? {} : sessionHeaders(session, this.#client.origins.access)),
      },
    });
  }

  /** As the administrator, or with the given session. */
  async platform<T>(
    method: string,
    target: string,
    { server = 'platform', session, body }: WorldCall = {},
  ): Promise<T> {
    const headers: Record<string, string> =
      session === undefined
        ? { Authorization: `Bearer ${this.#adminToken}` }
        : sessionHeaders(session, this.#client.origins[server]);
    return this.#demand<T>(server, { method, target, body, headers });
  }

  /** Logs in with the page, like a browser without scripts. */
  async logIn(username: string, password: string): Promise<SessionCookies> {
    const page = new URL('/login/', this.#client.origins.access);
    const form = await fetch(page);
    const token = /name="csrfmiddlewaretoken" value="([^"]*)"/.exec(await form.text())?.[1] ?? '';
    const headers = {
      Cookie: form.headers
        .getSetCookie()
        .map((cookie) => cookie.split(';')[0])
        .join('; '),
      Origin: page.origin,
    };
    const answer = await fetch(page, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ username, password, csrfmiddlewaretoken: token }),
      redirect: 'manual',
    });
    const cookies = new Map(
      answer.headers.getSetCookie().map((cookie) => cookie.split(';')[0]!.split('=') as [string, string]),
    );
    const [id, csrfToken] = [cookies.get('svc_sessionid'), cookies.get('svc_csrftoken')];
    if (id === undefined || csrfToken === undefined)
      throw new Error(`${username} could not log in: ${answer.status} ${await answer.text()}`);
    return { id, csrfToken };
  }

  /** Waits for controllers and the role index. */
  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + untilMs;
    while (!(await holds().catch(() => false))) {
      if (Date.now() > deadline) throw new Error(`timed out waiting until ${what}`);
      await delay(pauseMs);
    }
  }

  async #demand<T>(
    server: ServerName,
    {
      method,
      target,
      headers,
      body,
    }: { method: string; target: string; headers: Record<string, string>; body: object | undefined },
  ): Promise<T> {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const { status, text } = await this.#client.send({
      server,
      method,
      target,
      headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...json,
    });
    if (status >= 300) throw new Error(`${method} ${target}: ${status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }
}

function sessionHeaders({ id, csrfToken }: SessionCookies, origin: string): Record<string, string> {
  return { Cookie: `svc_sessionid=${id}; svc_csrftoken=${csrfToken}`, 'X-CSRFToken': csrfToken, Origin: origin };
}
