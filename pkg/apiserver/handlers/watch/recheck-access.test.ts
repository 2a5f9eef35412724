import { expect, test } from '@jest/globals';
import { newForbidden, newServiceUnavailable, newUnauthorized, type StatusError } from '#pkg/apimachinery/index';
import { recheckAccess } from './recheck-access.ts';

const forbidden = newForbidden({ group: '', resource: 'events' }, '', 'no');

test.each([
  ['forbidden', forbidden],
  ['without a credential', newUnauthorized()],
])('a watch that is %s ends, once, whatever other errors came before', async (_reason, last) => {
  const answers = [undefined, newServiceUnavailable('later'), new Error('a fault'), last];
  let looks = 0;
  const lost = await new Promise<StatusError[]>((resolve) => {
    const heard: StatusError[] = [];
    recheckAccess({
      everyMs: 1,
      recheck: async () => {
        looks += 1;
        const answer = answers[looks - 1];
        if (answer !== undefined) throw answer;
      },
      onLost: (error) => {
        heard.push(error);
        setTimeout(() => resolve(heard), 20).ref();
      },
    });
    // The checks themselves do not keep the process alive.
    const alive = setInterval(() => heard.length > 0 && clearInterval(alive), 5);
  });
  expect([lost, looks]).toEqual([[last], 4]);
});

test('after its end a watch gets no result, not even of a check in progress', async () => {
  let refuse = (_error: Error): void => undefined;
  const begun = new Promise<void>((resolve) => {
    const stop = recheckAccess({
      everyMs: 1,
      recheck: () => {
        stop();
        resolve();
        return new Promise((_resolve, reject) => {
          refuse = reject;
        });
      },
      onLost: () => expect('nobody').toBe('told'),
    });
  });
  const alive = setInterval(() => undefined, 5);
  await begun;
  clearInterval(alive);
  refuse(forbidden);
  await new Promise(setImmediate);
});
