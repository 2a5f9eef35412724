import { Agent, request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { Agent as TlsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { signDraft } from '../harness/client/sign-request.ts';
import type { AttackFixtures } from './attack-fixtures.ts';
import type { ServicePorts } from './proxy.ts';

/** Requests a second. */
const rate = 20;
const timeoutMs = 10_000;
/** The address of a user without a credential. */
const otherAddress = '127.0.0.21';

/** A request that the user repeats. */
interface Question {
  name: string;
  service: keyof ServicePorts;
  method: string;
  path: string;
  headers: () => OutgoingHttpHeaders;
  body?: string;
  isTls?: boolean;
  /** From an address without attackers: anonymous clients of one address share its limits. */
  isElsewhere?: boolean;
}

export interface UserResults {
  /** Milliseconds, sorted. */
  times: number[];
  /** Counts of failures such as `429 of a session, platform`. */
  failures: Map<string, number>;
}

/** A user with every kind of credential, who uses both services at a steady rate. */
export class LegitimateUser {
  readonly #agent: Agent;
  readonly #elsewhere = new Agent({ keepAlive: true, localAddress: otherAddress });
  readonly #tlsAgent: TlsAgent;
  readonly #tlsPort: number | undefined;
  readonly #ports: ServicePorts;
  readonly #questions: readonly Question[];

  /** `tlsPort`: the platform's https port, used too. */
  constructor(
    fixtures: AttackFixtures,
    { ports, address, tlsPort }: { ports: ServicePorts; address: string; tlsPort?: number },
  ) {
    this.#ports = ports;
    this.#tlsPort = tlsPort;
    this.#agent = new Agent({ keepAlive: true, localAddress: address });
    // The certificate does not matter here.
    this.#tlsAgent = new TlsAgent({ keepAlive: true, localAddress: address, rejectUnauthorized: false });
    this.#questions = questionsOf(fixtures).filter(({ isTls }) => isTls !== true || tlsPort !== undefined);
  }

  /** Sends each request once, so that the server knows the credentials. */
  async introduce(): Promise<void> {
    const experience: UserResults = { times: [], failures: new Map() };
    for (const question of this.#questions) await this.#ask(question, experience);
    if (experience.failures.size > 0)
      throw new Error(`a user was refused before any attack: ${[...experience.failures.keys()].join(', ')}`);
  }

  /** Sends `count` requests of a session at once; counts the refusals. */
  async burst(count: number, service: keyof ServicePorts): Promise<UserResults> {
    const experience: UserResults = { times: [], failures: new Map() };
    const question = this.#questions.find((each) => each.service === service && each.name === 'a session')!;
    await Promise.all(Array.from({ length: count }, () => this.#ask(question, experience)));
    return experience;
  }

  /** Sends requests for `seconds`; a slow response delays no other request. */
  async use(seconds: number): Promise<UserResults> {
    const experience: UserResults = { times: [], failures: new Map() };
    const asked: Promise<void>[] = [];
    const start = performance.now();
    for (let i = 0; i < seconds * rate; i += 1) {
      await delay(start + (i * 1000) / rate - performance.now());
      asked.push(this.#ask(this.#questions[i % this.#questions.length]!, experience));
    }
    await Promise.all(asked);
    experience.times.sort((a, b) => a - b);
    return experience;
  }

  close(): void {
    this.#agent.destroy();
    this.#elsewhere.destroy();
    this.#tlsAgent.destroy();
  }

  async #ask(question: Question, { times, failures }: UserResults): Promise<void> {
    const start = performance.now();
    const outcome = await this.#send(question);
    times.push(performance.now() - start);
    if (/^2\d\d$/.test(outcome)) return;
    const failure = `${outcome} of ${question.name}, ${question.service}`;
    failures.set(failure, (failures.get(failure) ?? 0) + 1);
  }

  #send({ service, method, path, headers, body, isTls, isElsewhere }: Question): Promise<string> {
    const to =
      isTls === true
        ? { port: this.#tlsPort, agent: this.#tlsAgent }
        : { port: this.#ports[service], agent: isElsewhere === true ? this.#elsewhere : this.#agent };
    const newRequest = isTls === true ? httpsRequest : httpRequest;
    return new Promise((resolve) => {
      const send = (isRetried: boolean): void => {
        const request = newRequest(
          { host: '127.0.0.1', ...to, method, path, headers: headers(), timeout: timeoutMs },
          (response) => {
            response.resume();
            response.on('error', () => resolve('cut off')).on('end', () => resolve(String(response.statusCode)));
          },
        );
        request.on('timeout', () => request.destroy(new Error('no answer')));
        // A closed idle connection is not a refusal: clients open another.
        request.on('error', (error: NodeJS.ErrnoException) =>
          request.reusedSocket && !isRetried && error.code === 'ECONNRESET'
            ? send(true)
            : resolve(error.code ?? error.message),
        );
        request.end(body);
      };
      send(false);
    });
  }
}

function questionsOf({ token, credentials, session, accessKey, login, personalToken }: AttackFixtures): Question[] {
  const privateToken = credentials.flatMap(({ headers }) =>
    headers.flatMap(([, value]) => (value.startsWith('token ') ? [value] : [])),
  )[0]!;
  const cookie = { Cookie: `svc_sessionid=${session.cookie}` };
  const basic = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
  const profile = '/api/v1/users/profile/';
  const self = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const review = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
  const signed = (): OutgoingHttpHeaders => {
    const request = { method: 'GET', target: profile, headers: {} };
    signDraft(request, accessKey);
    return request.headers;
  };
  const get = (
    name: string,
    service: keyof ServicePorts,
    path: string,
    headers: () => OutgoingHttpHeaders,
  ): Question => ({ name, service, method: 'GET', path, headers });
  return [
    get('a Bearer token', 'access', profile, () => ({ Authorization: `Bearer ${token}` })),
    get('a personal token', 'platform', '/api/v1/namespaces', () => ({ Authorization: `Bearer ${personalToken}` })),
    {
      ...get('a personal token over https', 'platform', '/api/v1/namespaces', () => ({
        Authorization: `Bearer ${personalToken}`,
      })),
      isTls: true,
    },
    get('a session', 'access', profile, () => cookie),
    get('a session', 'platform', '/apis', () => cookie),
    get('a signature', 'access', profile, signed),
    get('a password', 'platform', '/apis', () => ({ Authorization: basic })),
    get('a private token', 'access', profile, () => ({ Authorization: privateToken })),
    {
      name: 'a personal token that posts',
      service: 'platform',
      method: 'POST',
      path: self,
      headers: () => ({ Authorization: `Bearer ${personalToken}`, 'Content-Type': 'application/json' }),
      body: review,
    },
    get('a probe', 'platform', '/livez', () => ({})),
    get('a probe of readiness', 'platform', '/readyz', () => ({})),
    get('a probe of readiness', 'access', '/healthz', () => ({})),
    { ...get('nobody who reads the documentation', 'platform', '/docs', () => ({})), isElsewhere: true },
    { ...get('nobody who logs in', 'access', '/login/', () => ({})), isElsewhere: true },
    get('nobody who asks for the version', 'platform', '/version', () => ({})),
    get('nobody who asks for the version', 'access', '/version', () => ({})),
    get('a wrong token that asks for the version', 'platform', '/version', () => ({ Authorization: 'Bearer none' })),
  ];
}
