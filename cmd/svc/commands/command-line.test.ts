import { afterEach, expect, jest, test } from '@jest/globals';
import { runCommandLine } from './command-line.ts';
import { optionNames } from '../options/option-table.ts';
import { optionsOfCommand } from '../options/options-of-command.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

const cases: { reason: string; args: string[]; environment?: Record<string, string>; sentence: string }[] = [
  { reason: 'an unknown command', args: ['srve'], sentence: 'There is no command srve; did you mean serve?' },
  {
    reason: 'an unknown command without a similar name',
    args: ['destroy', '--svc.server.port=1'],
    sentence:
      'There is no command destroy; there are serve, apiserver, access-server, controller-manager, migrate, version, new-token, generate, plugin, private-token, create-token, revoke-tokens, unblock, rotate-keys, backup, restore.',
  },
  {
    reason: 'an unknown option before the command',
    args: ['--svc.server.prt=1', 'serve'],
    sentence: 'There is no option --svc.server.prt; did you mean --svc.server.port?',
  },
  {
    reason: 'an unknown variable',
    args: [],
    environment: { SVC_PORT: '1' },
    sentence: 'There is no option for the environment variable SVC_PORT; svc --help lists them all.',
  },
  {
    reason: 'an API server without a database',
    args: ['apiserver'],
    sentence: 'svc apiserver has no embedded PostgreSQL; set svc.database.url, or use svc serve.',
  },
  {
    reason: 'an access server with an invalid token, before it connects to the database',
    args: [
      'access-server',
      '--svc.database.url=postgres://127.0.0.1:1/svc',
      '--svc.security.initial-admin-token=secret',
    ],
    sentence: 'svc.security.initial-admin-token is not a personal token',
  },
  {
    reason: 'a missing config folder',
    args: ['migrate', '--config', '/absent'],
    sentence: 'The config folder /absent cannot be read (ENOENT).',
  },
];

test.each(cases)('$reason', async ({ args, environment = {}, sentence }) => {
  await expect(runCommandLine(args, environment)).rejects.toThrow(sentence);
});

test.each([
  'serve',
  'migrate',
  'plugin remove',
  'plugin list',
  'generate types',
  'private-token show',
  'backup',
  'new-token',
  'plugin',
])('%s --help lists the options that it uses, and no others', async (words) => {
  let text = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((piece) => {
    text += String(piece);
    return true;
  });
  jest.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`ended with ${code}`);
  });
  await expect(runCommandLine([...words.split(' '), '--help'], {})).rejects.toThrow('ended with 0');
  expect(text).toMatch(new RegExp(`^Usage: svc ${words} `));
  expect(optionNames.filter((name) => text.includes(`\n  ${name} `))).toEqual(
    words === 'plugin' ? [] : optionsOfCommand(words, optionNames),
  );
});
