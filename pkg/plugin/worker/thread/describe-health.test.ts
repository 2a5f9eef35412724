import { expect, test } from '@jest/globals';
import type { ControllerStatus } from '#pkg/runtime/index';
import { describeHealth } from './describe-health.ts';

const controllers: ControllerStatus[] = [
  { name: 'sound', state: 'running' },
  { name: 'slow', state: 'starting' },
  { name: 'broken', state: 'failed', problem: new TypeError('no') },
];
const broken = 'the controller broken does not run: TypeError: no';

test('a controller that is still starting is no problem at first, and one later', () => {
  const described = (hasSettled: boolean): string | undefined =>
    describeHealth({ controllers, failures: undefined }, hasSettled).controllers?.replace(/ \(\/[^)]*\)/, '');
  expect([described(false), described(true)]).toEqual([broken, `the controller slow is still starting; ${broken}`]);
});

test('running controllers are not mentioned, and of many failing ones only the first', () => {
  expect(describeHealth({ controllers: controllers.slice(0, 1), failures: undefined }, true)).toEqual({});
  const many = Array.from({ length: 7 }, (_, i): ControllerStatus => ({ name: `c${i}`, state: 'starting' }));
  expect(describeHealth({ controllers: many, failures: undefined }, true).controllers).toMatch(
    /^the controller c0 is still starting; .*the controller c4 is still starting; and 2 more$/,
  );
});
