import { expect, test } from '@jest/globals';
import { TooManyPasswordsError } from './hashing-queue.ts';
import { AttemptQueue } from './attempt-queue.ts';

/** An attempt that the test ends. */
function attempt(): { begun: boolean; end: (error?: Error) => void; work: () => Promise<string> } {
  let end!: (error?: Error) => void;
  const ended = new Promise<string>((resolve, reject) => {
    end = (error) => (error === undefined ? resolve('done') : reject(error));
  });
  const one = {
    begun: false,
    end,
    work: () => {
      one.begun = true;
      return ended;
    },
  };
  return one;
}

/** Each account has its own address by default. */
const of = (account: string, address = account): { account: string; address: string } => ({ account, address });

const turn = (): Promise<void> => new Promise(setImmediate);

test('attempts for one account run one after the other, also after a failure; another account does not wait', async () => {
  const queue = new AttemptQueue();
  const [first, second, other] = [attempt(), attempt(), attempt()];
  const results = [
    queue.run(of('mia'), first.work),
    queue.run(of('mia'), second.work),
    queue.run(of('ben'), other.work),
  ] as const;
  await turn();
  expect([first.begun, second.begun, other.begun]).toEqual([true, false, true]);
  first.end(new Error('broken'));
  await expect(results[0]).rejects.toThrow('broken');
  await turn();
  expect(second.begun).toBe(true);
  second.end();
  other.end();
  expect(await Promise.all(results.slice(1))).toEqual(['done', 'done']);
});

test('attempts beyond the limit, of one account or in all, are refused at once, and accepted when others have ended', async () => {
  const queue = new AttemptQueue({ perAccount: 2, inAll: 3 });
  const running = attempt();
  const results = [
    queue.run(of('mia'), running.work),
    queue.run(of('mia'), running.work),
    queue.run(of('ben'), running.work),
  ];
  await expect(queue.run(of('mia'), running.work)).rejects.toThrow(TooManyPasswordsError);
  await expect(queue.run(of('eve'), running.work)).rejects.toThrow(TooManyPasswordsError);
  running.end();
  await Promise.all(results);
  expect(await queue.run(of('mia'), running.work)).toBe('done');
});

test('a network has its share, and leaves the rest to others', async () => {
  const queue = new AttemptQueue();
  const running = attempt();
  const results = Array.from({ length: 8 }, (_, i) => queue.run(of(`stranger${i}`, `2001:db8::${i}`), running.work));
  await expect(queue.run(of('stranger9', '2001:db8::9'), running.work)).rejects.toThrow(TooManyPasswordsError);
  results.push(queue.run(of('mia', '192.0.2.1'), running.work));
  running.end();
  await Promise.all(results);
  expect(await queue.run(of('stranger9', '2001:db8::9'), running.work)).toBe('done');
});
