import { expect, test } from '@jest/globals';
import { optionNames, type OptionName } from './option-table.ts';
import { optionsOfCommand } from './options-of-command.ts';

const of = (command: string): OptionName[] => optionsOfCommand(command, optionNames);

test('a command that calls a server has the options to find it, and no others', () => {
  expect(of('plugin').toSorted()).toEqual([
    'svc.controllers.api-url',
    'svc.controllers.ca-file',
    'svc.controllers.token-file',
    'svc.data.dir',
    'svc.server.host',
    'svc.server.port',
  ]);
  expect([of('generate types'), of('plugin list')]).toEqual([of('plugin'), of('plugin')]);
  expect(of('plugin remove').filter((name) => !of('plugin').includes(name))).toEqual(['svc.plugins.dir']);
});

test('a command on the database has the options to find that', () => {
  expect(of('unblock').every((name) => /^svc\.(?:database\.|data\.dir$|log\.(?:level|format)$)/.test(name))).toBe(true);
  expect(of('private-token')).toEqual(
    expect.arrayContaining(['svc.security.key', 'svc.security.key-file', 'svc.database.url']),
  );
});

test('a server has no options of other processes', () => {
  expect(of('serve')).not.toContain('svc.controllers.api-url');
  expect(of('apiserver')).not.toContain('svc.access.port');
  expect(of('apiserver')).not.toContain('svc.plugins.dir');
  expect(of('controller-manager')).not.toContain('svc.database.url');
  expect(of('access-server')).not.toContain('svc.storage.log-max-size');
  expect(of('apiserver')).not.toContain('svc.access.public-url');
  expect(of('access-server')).toEqual(
    expect.arrayContaining(['svc.access.public-url', 'svc.http.cors.allowed-origins']),
  );
});

test('each option belongs to a command; a command without options has none', () => {
  const commands = ['serve', 'apiserver', 'access-server', 'controller-manager'];
  expect(optionNames.filter((name) => !commands.some((command) => of(command).includes(name)))).toEqual([]);
  expect([of('version'), of('new-token')]).toEqual([[], []]);
});
