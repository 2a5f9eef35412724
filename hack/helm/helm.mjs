import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where `node hack/helm/fetch.mjs` puts helm and kubectl. */
export const toolsFolder = fileURLToPath(new URL('../../node_modules/.cache/helm', import.meta.url));

const timeoutMs = 60_000;
const maxOutputBytes = 32 * 1024 * 1024;

/** Whether helm can run here; for other processors and systems see fetch.mjs. */
export function hasHelm() {
  return existsSync(join(toolsFolder, 'helm'));
}

/**
 * Runs helm with these arguments; resolves to its stdout. Rejects with helm's stderr as the message if it fails, and
 * after a minute. Reads no configuration, plugin or repository of the user, and contacts no cluster.
 */
export async function helm(args) {
  return outputOf('helm', args);
}

/** The same for kubectl. `editor` is the command of `kubectl edit`. */
export async function kubectl(args, { editor } = {}) {
  return outputOf('kubectl', args, editor === undefined ? {} : { KUBE_EDITOR: editor });
}

/** Starts a program of the folder, or of another path, for a command that does not end; its output is in pipes. */
export function startTool(tool, args) {
  return spawn(resolve(toolsFolder, tool), args, { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
}

/**
 * Runs a program of the folder, or of another path, as `helm` does, with `input` as its stdin and `env` in addition.
 * Resolves to its exit status and what it wrote. Rejects only if it cannot be run, or was killed after a minute.
 */
export function runTool(tool, args, { input = '', env = {} } = {}) {
  return new Promise((done, reject) => {
    const child = execFile(
      resolve(toolsFolder, tool),
      args,
      { env: environment(env), timeout: timeoutMs, maxBuffer: maxOutputBytes },
      (error, stdout, stderr) => {
        if (error === null || typeof error.code === 'number') done({ status: error?.code ?? 0, stdout, stderr });
        else if (error.code === 'ENOENT') reject(new Error(`${tool} is not installed: run node hack/helm/fetch.mjs`));
        else reject(new Error(`${tool} ${args.join(' ')}: ${error.message}`));
      },
    );
    // A program may end before it has read all of it.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

function environment(more = {}) {
  const home = join(toolsFolder, 'home');
  // Disables garbage collection, which would be most of the work of such a short process.
  return {
    PATH: process.env.PATH,
    HOME: home,
    HELM_CONFIG_HOME: home,
    HELM_CACHE_HOME: home,
    HELM_DATA_HOME: home,
    KUBECONFIG: '/dev/null',
    GOGC: 'off',
    ...more,
  };
}

async function outputOf(tool, args, env = {}) {
  const { status, stdout, stderr } = await runTool(tool, args, { env });
  if (status === 0) return stdout;
  throw new Error(`${stderr.trim()}\n${stdout.trim()}`.trim() || `${tool} ended with ${status}`);
}
