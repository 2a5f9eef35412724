import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { SharedAuthenticator } from './shared-authenticator.ts';

const request = (headers: IncomingMessage['headers']): IncomingMessage => ({ headers }) as IncomingMessage;

function counting(maxAgeMs: number): {
  ask: (headers: IncomingMessage['headers']) => Promise<string | undefined>;
  asked: string[];
} {
  const asked: string[] = [];
  const authenticateRequest = async ({ headers }: IncomingMessage) => {
    const name = `${headers.authorization ?? ''}/${headers.cookie ?? ''}`;
    asked.push(name);
    return { name, uid: '', groups: [] };
  };
  const shared = new SharedAuthenticator({ authenticateRequest }, { maxAgeMs });
  return { ask: async (headers) => (await shared.authenticateRequest(request(headers)))?.name, asked };
}

test('concurrent requests with one credential share one lookup, and each credential has its own', async () => {
  const { ask, asked } = counting(60_000);
  const answers = await Promise.all([
    ask({ authorization: 'a' }),
    ask({ authorization: 'b' }),
    ask({ authorization: 'a' }),
    ask({ cookie: 'a' }),
    ask({ authorization: 'a', cookie: 'a' }),
  ]);
  expect(answers).toEqual(['a/', 'b/', 'a/', '/a', 'a/a']);
  expect(asked).toEqual(['a/', 'b/', '/a', 'a/a']);
});

test('a result is not kept after the lookup', async () => {
  const { ask, asked } = counting(0);
  await ask({ authorization: 'a' });
  await ask({ authorization: 'a' });
  expect(asked).toEqual(['a/', 'a/']);
});
