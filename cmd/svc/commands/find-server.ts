import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isStatusError } from '#pkg/apimachinery/index';
import { clusterRoleType } from '#pkg/apis/index';
import { loadKubeConfig, RestClient } from '#pkg/client/index';
import { newLogger } from '../process/logger.ts';
import { OperatorError } from '../options/operator-error.ts';
import { loadOptions } from '../options/load-options.ts';
import { optionTable, type Options } from '../options/option-table.ts';
import { readFlags } from '../options/read-flags.ts';
import { platformServer } from '../composition/platform-server.ts';
import type { Environment } from '../composition/start-plugins.ts';
import { kubeconfigMark } from '../tls/kubeconfig.ts';
import { urlOf } from '../process/browser-url.ts';

/** How the user names a running server; missing parts are found as the server finds them. */
export interface ServerSources {
  /** `http://127.0.0.1:8090` */
  readonly server?: string | undefined;
  /** The file contains only the token. */
  readonly tokenFile?: string | undefined;
  /** As `loadOptions` takes it. */
  readonly config?: string | undefined;
  readonly args: readonly string[];
  readonly environment: Environment;
}

export interface FoundServer {
  readonly url: string;
  /** The caller must close it. */
  readonly client: RestClient;
}

/** A possible server, and the options that name it. */
interface ServerCandidate {
  readonly url: string;
  readonly from: string;
  /** Throws OperatorError. */
  connect(): Promise<RestClient>;
}

const maxTokenLength = 4096;
/** Timeout of one request to a possible server. Milliseconds. */
const tryTimeoutMs = 5_000;

/**
 * The named server, or the one that was started with the same options: files, environment and flags. Of several
 * possible servers the first that responds. @throws OperatorError that lists what was tried
 */
export async function findServer({
  server,
  tokenFile,
  config,
  args,
  environment,
}: ServerSources): Promise<FoundServer> {
  if (server !== undefined && tokenFile !== undefined && config === undefined) {
    // Nothing is searched; a folder ./config may belong to another program.
    readFlags(args);
    return { url: server, client: connect(server, tokenFile) };
  }
  const { options } = loadOptions({ configFolder: config, environment, args });
  const file = tokenFile ?? join(options['svc.data.dir'], 'admin-token');
  if (server !== undefined) return { url: server, client: connect(server, file) };
  const tried: string[] = [];
  for (const place of candidatesOf(options, { file, isGiven: tokenFile !== undefined })) {
    const found = await tryCandidate(place);
    if (typeof found !== 'string') return { url: place.url, client: found };
    tried.push(`${place.url} (${place.from}): ${found}`);
  }
  const places = tried.join('; ') || 'nothing, as svc.server.port is 0 and there is no kubeconfig of the server';
  const advice = 'Start it, give the options that it was started with, or name it with --server and --token-file.';
  throw new OperatorError(`No server answers. Tried: ${places}. ${advice}`);
}

function* candidatesOf(options: Options, token: { file: string; isGiven: boolean }): Generator<ServerCandidate> {
  const [host, port] = [options['svc.server.host'], options['svc.server.port']];
  const url = urlOf(host, { port });
  // 0 means any free port.
  if (port !== 0)
    yield { url, from: 'svc.server.host and svc.server.port', connect: async () => connect(url, token.file) };
  const kubeconfig = join(options['svc.data.dir'], 'kubeconfig');
  const tlsUrl = token.isGiven ? undefined : serverOf(kubeconfig);
  if (tlsUrl !== undefined)
    yield {
      url: tlsUrl,
      from: kubeconfig,
      connect: async () => RestClient.fromKubeConfig(await loadKubeConfig(kubeconfig)),
    };
  const option = 'svc.controllers.api-url';
  if (options[option] !== optionTable[option].default) {
    const api = platformServer(options, 'svc.controllers', newLogger(options, 2));
    const file = token.isGiven ? token.file : (options['svc.controllers.token-file'] ?? token.file);
    yield { url: api.url, from: option, connect: async () => RestClient.connect({ ...api, token: readToken(file) }) };
  }
}

/** The client, or why it cannot be used. */
async function tryCandidate(place: ServerCandidate): Promise<RestClient | string> {
  let client: RestClient;
  try {
    client = await place.connect();
  } catch (error) {
    if (error instanceof OperatorError) return error.message.replace(/\.$/, '');
    throw error;
  }
  const problem = await problemOf(client);
  if (problem === undefined) return client;
  client.close();
  return problem;
}

/** Undefined if the server responds and accepts the token; the command itself reports other errors. */
async function problemOf(client: RestClient): Promise<string | undefined> {
  try {
    await client.get(clusterRoleType, { namespace: '', name: 'view' }, { signal: AbortSignal.timeout(tryTimeoutMs) });
    return undefined;
  } catch (error) {
    if (isStatusError(error, 'Unauthorized')) return 'it does not know the token';
    if ((error as Error).name === 'TimeoutError') return `no answer within ${tryTimeoutMs} ms`;
    if (!isStatusError(error)) throw error;
    // An error with a response has no cause.
    if (error.cause === undefined) return undefined;
    const { code, message } = error.cause as NodeJS.ErrnoException;
    return code ?? message;
  }
}

/** The server in a kubeconfig that this program has written; other files are ignored. */
function serverOf(kubeconfig: string): string | undefined {
  try {
    const text = readFileSync(kubeconfig, 'utf8');
    if (!text.startsWith(kubeconfigMark)) return undefined;
    const { clusters } = JSON.parse(text.slice(kubeconfigMark.length)) as {
      clusters: [{ cluster: { server: string } }];
    };
    return clusters[0].cluster.server;
  } catch {
    // No file, or not written by this program.
    return undefined;
  }
}

function connect(server: string, tokenFile: string): RestClient {
  const token = readToken(tokenFile);
  try {
    return RestClient.connect({ url: server, token });
  } catch (error) {
    throw new OperatorError('--server is not the URL of a server, such as http://127.0.0.1:8090.', { cause: error });
  }
}

function readToken(file: string): string {
  let token: string;
  try {
    if (statSync(file).size > maxTokenLength) throw new OperatorError(`${file} is too large for a token.`);
    token = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(`The token cannot be read from ${file} (${code}); name its file with --token-file.`, {
      cause: error,
    });
  }
  if (!/^[!-~]+$/.test(token)) throw new OperatorError(`${file} holds no token.`);
  return token;
}
