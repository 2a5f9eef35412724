import type { ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describe } from '@jest/globals';
import { fetchDebianKubectl } from '../../../hack/helm/fetch-debian-kubectl.mjs';
import { hasHelm, runTool, startTool } from '../../../hack/helm/helm.mjs';

/** A kubectl that this machine has. */
export interface Kubectl {
  /** Part of names, for example of a namespace: `kubectl-debian`. */
  name: string;
  /** A name in the folder of tools, or a path. */
  program: string;
  /** Debian's is version 1.20, which lacks later commands and flags. */
  isOld: boolean;
}

export interface KubectlResult {
  status: number;
  stdout: string;
  stderr: string;
}

export interface KubectlOptions {
  /** Becomes its stdin. */
  input?: string;
  /** In addition to a bare environment. */
  env?: Readonly<Record<string, string>>;
}

/** The folder of a Kubernetes API server for custom resources, or undefined. */
export const peerFolder = process.env['SVC_TEST_PEER'];

function findKubectls(): Kubectl[] {
  const found: Kubectl[] = [];
  if (hasHelm()) found.push({ name: 'kubectl', program: 'kubectl', isOld: false });
  else warnAbout('kubectl is not installed (node hack/helm/fetch.mjs)');
  const reason = fetchDebianKubectl();
  if (reason === undefined) found.push({ name: 'kubectl-debian', program: 'kubectl-debian', isOld: true });
  else warnAbout(`this system does not have Debian's kubectl: ${reason}`);
  const peer = peerFolder === undefined ? undefined : join(peerFolder, 'bin/kubectl');
  if (peer !== undefined && existsSync(peer)) found.push({ name: 'kubectl-peer', program: peer, isOld: false });
  return found;
}

function warnAbout(reason: string): void {
  process.stderr.write(`WARNING: not tested with one kubectl: ${reason}\n`);
}

/** Describes the same for each kubectl that this machine has, and skips it if there is none. */
export function describeKubectls(body: (kubectl: Kubectl) => void): void {
  const kubectls = findKubectls();
  for (const kubectl of kubectls) describe(kubectl.name, () => body(kubectl));
  if (kubectls.length === 0) describe.skip('kubectl', () => body({ name: 'kubectl', program: '', isOld: false }));
}

/** A kubectl with the configuration of a server. */
export class KubectlUser {
  readonly kubectl: Kubectl;
  readonly #flags: readonly string[];

  /** `flags` say which server, for example `--kubeconfig=FILE`. `cacheDir` is a folder of this server alone. */
  constructor(kubectl: Kubectl, { cacheDir, flags }: { cacheDir: string; flags: readonly string[] }) {
    this.kubectl = kubectl;
    this.#flags = [...flags, `--cache-dir=${join(cacheDir, kubectl.name)}`];
  }

  /** The output of a command that succeeds. Rejects with all that it wrote otherwise. */
  async run(...args: string[]): Promise<string> {
    return this.runWith({}, ...args);
  }

  async runWith(options: KubectlOptions, ...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await this.result(args, options);
    if (status !== 0) throw new Error(`kubectl ${args.join(' ')}: exit ${status}\n${stderr}\n${stdout}`);
    return stdout;
  }

  /** What it wrote and its exit status, whether it succeeds or not. */
  async result(args: readonly string[], options: KubectlOptions = {}): Promise<KubectlResult> {
    return runTool(this.kubectl.program, [...args, ...this.#flags], options);
  }

  /** A command that does not end by itself. The caller kills it. */
  start(...args: string[]): ChildProcessByStdio<null, Readable, Readable> {
    return startTool(this.kubectl.program, [...args, ...this.#flags]);
  }
}

/** Lines of a table, with one space between cells. */
export function linesOf(output: string): string[] {
  return output
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().replaceAll(/ {2,}/g, ' '));
}
