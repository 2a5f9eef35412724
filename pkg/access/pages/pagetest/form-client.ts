import type { AccessAnswer, AccessReplica } from '../../accesstest/start-access-test.ts';

/** A minimal browser: keeps cookies and sends forms, with the CSRF token of their page. */
export class FormClient {
  readonly cookies = new Map<string, string>();
  readonly #server: Pick<AccessReplica, 'send'>;
  #token = '';

  constructor(server: Pick<AccessReplica, 'send'>) {
    this.#server = server;
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<AccessAnswer> {
    const answer = await this.#server.send('GET', path, { headers: { ...this.#headers(), ...headers } });
    return this.#keep(answer);
  }

  /** Sends the form of the last page, unless `csrfmiddlewaretoken` is given. */
  async post(
    path: string,
    fields: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<AccessAnswer> {
    const body = new URLSearchParams({ csrfmiddlewaretoken: this.#token, ...fields }).toString();
    return this.#keep(
      await this.#server.send('POST', path, {
        body,
        headers: { ...this.#headers(), 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
      }),
    );
  }

  async logIn(username: string, password: string): Promise<AccessAnswer> {
    await this.get('/login/');
    const answer = await this.post('/login/', { username, password, next: '' });
    await this.get('/settings/');
    return answer;
  }

  #headers(): Record<string, string> {
    return { Accept: 'text/html', Cookie: Array.from(this.cookies, ([name, value]) => `${name}=${value}`).join('; ') };
  }

  #keep(answer: AccessAnswer): AccessAnswer {
    for (const text of answer.headers['set-cookie'] ?? []) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(text)!;
      if (/Max-Age=0/.test(text)) this.cookies.delete(name!);
      else this.cookies.set(name!, value!);
    }
    this.#token = /name="csrfmiddlewaretoken" value="([^"]*)"/.exec(answer.text)?.[1] ?? this.#token;
    return answer;
  }
}
