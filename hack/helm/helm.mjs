import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
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
  return runTool('helm', args);
}

/** The same for kubectl. `editor` is the command of `kubectl edit`. */
export async function kubectl(args, options) {
  return runKubectl('kubectl', args, options);
}

/** The same for the kubectl that fetchDebianKubectl put there: an older one. */
export async function debianKubectl(args, options) {
  return runKubectl('kubectl-debian', args, options);
}

async function runKubectl(tool, args, { editor } = {}) {
  return runTool(tool, args, editor === undefined ? {} : { KUBE_EDITOR: editor });
}

/** Starts one of these programs, for a command that does not end; its output is in pipes. */
export function startTool(tool, args) {
  return spawn(join(toolsFolder, tool), args, { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
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

function runTool(tool, args, more = {}) {
  return new Promise((resolve, reject) => {
    execFile(
      join(toolsFolder, tool),
      args,
      { env: environment(more), timeout: timeoutMs, maxBuffer: maxOutputBytes },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else if (error.code === 'ENOENT') reject(new Error(`${tool} is not installed: run node hack/helm/fetch.mjs`));
        else reject(new Error(`${stderr.trim()}\n${stdout.trim()}`.trim() || error.message));
      },
    );
  });
}
