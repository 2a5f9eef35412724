import { createSecureContext, type SecureContext } from 'node:tls';
import { pause } from '#pkg/apimachinery/index';
import { HttpConnection, type Answer } from './http-connection.ts';
import type { MeasuredProcesses } from '../../test/system/harness/process/process-usage.ts';
import { requestSource, type RequestPlan, type RequestSource } from './request-plan.ts';
import { SampleRecorder, type Sample } from '../report/sample.ts';
import { serveJobs } from '../../test/system/harness/process/worker-process.ts';

/** A closed loop: each connection sends its next request after the previous response. */
export interface LoadJob {
  port: number;
  /** Uses TLS with this authority (PEM). */
  authority?: string;
  /** Opens a connection for each request; opening it counts. */
  anew?: true;
  authorization: string;
  connections: number;
  plan: RequestPlan;
  warmUpSeconds: number;
  seconds: number;
  /** Ends after this many requests instead of a time; then all of them count. */
  requests?: number;
  processes: MeasuredProcesses;
}

class Loop {
  readonly #job: LoadJob;
  readonly #source: RequestSource;
  readonly #recorder: SampleRecorder;
  readonly #trusted: SecureContext | undefined;
  #sent = 0;
  #isOver = false;

  constructor(job: LoadJob) {
    this.#job = job;
    this.#source = requestSource(job.plan, job.authorization);
    this.#recorder = new SampleRecorder(job.processes);
    this.#trusted = job.authority === undefined ? undefined : createSecureContext({ ca: job.authority });
  }

  async run(): Promise<Sample> {
    const { connections: count, requests, warmUpSeconds, seconds, anew } = this.#job;
    const connections = await Promise.all(Array.from({ length: count }, () => this.#open()));
    try {
      await Promise.all(connections.map((connection, i) => this.#prepare(connection, i)));
      if (requests !== undefined) this.#recorder.open();
      const loops = Promise.all(
        connections.map((connection, i) => (anew === true ? this.#driveAnew(i) : this.#drive(connection, i))),
      );
      if (requests !== undefined) {
        await loops;
        return this.#recorder.close();
      }
      await pause(warmUpSeconds * 1000);
      this.#recorder.open();
      await pause(seconds * 1000);
      const sample = this.#recorder.close();
      this.#isOver = true;
      await loops;
      return sample;
    } finally {
      for (const connection of connections) connection.close();
    }
  }

  async #prepare(connection: HttpConnection, i: number): Promise<void> {
    if (this.#source.prepare === undefined) return;
    const answer = await connection.request(this.#source.prepare(i));
    this.#check(i, answer, 200);
  }

  #open(): Promise<HttpConnection> {
    return HttpConnection.open(this.#job.port, this.#trusted);
  }

  async #driveAnew(i: number): Promise<void> {
    while (!this.#isOver) {
      const beganAt = performance.now();
      const connection = await this.#open();
      const answer = await connection.request(this.#source.next(i));
      connection.close();
      if (this.#check(i, answer, this.#source.expectedStatus)) this.#recorder.add(performance.now() - beganAt);
    }
  }

  #drive(connection: HttpConnection, i: number): Promise<void> {
    return new Promise((resolve) => {
      const next = (): void => {
        if (this.#isOver || this.#sent >= (this.#job.requests ?? Infinity)) return resolve();
        this.#sent += 1;
        const sentAt = performance.now();
        const onAnswer = (answer: Answer): void => {
          if (this.#check(i, answer, this.#source.expectedStatus)) this.#recorder.add(performance.now() - sentAt);
          next();
        };
        const onFailure = (error: Error): void => {
          this.#recorder.fail(error.message);
          resolve();
        };
        connection.send(this.#source.next(i), onAnswer, onFailure);
      };
      next();
    });
  }

  #check(connection: number, answer: Answer, expected: number): boolean {
    if (answer.status !== expected) {
      this.#recorder.fail(`${answer.status} ${answer.body.toString('utf8', 0, 300)}`);
      return false;
    }
    this.#source.answered?.(connection, answer);
    return true;
  }
}

serveJobs((job) => new Loop(job).run());
