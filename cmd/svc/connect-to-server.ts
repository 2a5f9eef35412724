import { readFileSync, statSync } from 'node:fs';
import { RestClient } from '#pkg/client/index';
import { OperatorError } from './operator-error.ts';

/** A running server, and who asks it. */
export interface ServerOptions {
  /** `http://127.0.0.1:8090` */
  server: string;
  /** It holds the token and nothing else. */
  tokenFile: string;
}

const longestToken = 4096;

/** A client for a command of one question; to be closed. Throws OperatorError. */
export function connectToServer({ server, tokenFile }: ServerOptions): RestClient {
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
    if (statSync(file).size > longestToken) throw new OperatorError(`${file} is too large for a token.`);
    token = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`The token cannot be read from ${file} (${(error as NodeJS.ErrnoException).code}); name its file with --token-file.`, { cause: error });
  }
  if (!/^[!-~]+$/.test(token)) throw new OperatorError(`${file} holds no token.`);
  return token;
}
