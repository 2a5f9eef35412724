import { Option, type Command } from 'commander';
import type { Service } from '#pkg/access/index';
import { operandIn } from './operand-in.ts';
import { loadOptions } from '../options/load-options.ts';
import type { Options } from '../options/option-table.ts';
import type { PrivateTokenVerb } from './private-token-command.ts';
import type { Environment } from '../composition/start-plugins.ts';

/** Commands for an operator on the server's machine, with or without a running server. */
export const operatorCommandNames = [
  'private-token',
  'create-token',
  'revoke-tokens',
  'unblock',
  'rotate-keys',
  'backup',
  'restore',
];

interface Given {
  config?: string;
  user: string;
  name?: string;
  for: Service;
  file: string;
  rotate?: true;
  revokeOthers?: true;
  dropOld?: true;
  to?: string;
  from?: string;
  force?: true;
  replace?: true;
}

/**
 * Adds `svc private-token`, `svc create-token`, `svc revoke-tokens`, `svc unblock`, `svc rotate-keys`, `svc backup` with
 * `verify`, and `svc restore`. They accept the server's options, to find its database and keys.
 */
export function addOperatorCommands(
  program: Command,
  environment: Environment,
  setExitCode: (code: number) => void,
): void {
  const add = (
    command: Command,
    summary: string,
    run: (options: Options, given: Given, operands: readonly string[]) => Promise<number>,
  ): void => {
    command
      .summary(summary)
      .description(summary)
      .option('--config <folder>', 'folder of YAML files (default: ./config, where there is one)')
      // As with `serve`, svc.* options are not commander's.
      .allowUnknownOption()
      .allowExcessArguments()
      .action(async () => {
        const operands = command.args.slice(0, command.registeredArguments.length);
        const args = command.args.slice(operands.length);
        const given = command.opts<Given>();
        setExitCode(await run(loadOptions({ configFolder: given.config, environment, args }).options, given, operands));
      });
  };
  const tokens = program
    .command('private-token')
    .summary("print, make, replace or delete a user's private token")
    .helpCommand(false);
  const verbs: Readonly<Record<PrivateTokenVerb, string>> = {
    show: "print a user's private token",
    create: 'make one for a user who has none, and print it',
    rotate: 'replace it, and print the new one; the old one is dead',
    delete: 'delete it',
  };
  // Loaded only when a command runs: a server does not need it.
  for (const [verb, summary] of Object.entries(verbs) as [PrivateTokenVerb, string][]) {
    const command = tokens.command(verb).requiredOption('--user <name>', 'the username');
    add(command, summary, async (options, { user }) =>
      (await import('./private-token-command.ts')).privateToken(options, verb, user),
    );
  }
  const createToken = program
    .command('create-token')
    .addOption(
      new Option('--for <program>', 'whose token it is')
        .choices(['controller-manager', 'access-server'])
        .makeOptionMandatory(),
    )
    .requiredOption('--file <file>', 'where it goes; a token that is there already is kept, and added to the database')
    .option('--rotate', 'replace the token in the file by a new one; the one before stays valid')
    .option('--revoke-others', 'revoke all other tokens of the program');
  add(
    createToken,
    'make a token with which controllers or an access server work with the content platform, as a user of their own',
    async (options, { for: service, file, rotate: rotates = false, revokeOthers: revokesOthers = false }) =>
      (await import('./create-token-command.ts')).createToken(options, { service, file, rotates, revokesOthers }),
  );
  const revoke = program
    .command('revoke-tokens')
    .requiredOption('--user <name>', 'the username, or the e-mail address')
    .option('--name <token>', 'only the token of this name');
  add(revoke, 'revoke the personal tokens of a user, from the next request on', async (options, { user, name }) =>
    (await import('./revoke-tokens-command.ts')).revokeTokens(options, user, name),
  );
  const unblock = program.command('unblock').requiredOption('--user <name>', 'the username, or the e-mail address');
  add(unblock, 'forget the failed logins of a user, who may try again at once', async (options, { user }) =>
    (await import('./unblock-command.ts')).unblock(options, user),
  );
  const rotate = program
    .command('rotate-keys')
    .option('--drop-old', 'make no new key; remove those that nothing is sealed with any more');
  add(rotate, 'seal all stored secrets with a new key', async (options, { dropOld }) =>
    (await import('./rotate-keys-command.ts')).rotate(options, dropOld === true),
  );
  const backup = program
    .command('backup')
    .option('--to <file>', 'where it goes; - is stdout, the default unless that is a terminal')
    .option('--force', 'replace a file that is there')
    // The options of verify are its own.
    .enablePositionalOptions()
    .helpCommand(false);
  add(
    backup,
    'write a backup of the database, as of one moment; safe while servers run',
    async (options, { to, force }) =>
      (await import('./backup/backup-command.ts')).backup(options, { to, force: force === true }),
  );
  const verify = backup.command('verify').argument('<file>', 'the backup; - is stdin');
  add(
    verify,
    'read a backup to its end without a database: is it whole, and can this version restore it?',
    async (options, _given, operands) => {
      const file = operands[0] === '-' ? '-' : operandIn(operands, { what: 'file', usage: 'svc backup verify <file>' });
      return (await import('./backup/verify-command.ts')).verify(options, file);
    },
  );
  const restore = program
    .command('restore')
    .option('--from <file>', 'the backup; - is stdin, the default')
    .option('--replace', 'drop what is in the database');
  add(
    restore,
    'bring a backup back, into a database that is empty; no server may run',
    async (options, { from, replace }) =>
      (await import('./backup/restore-command.ts')).restoreBackup(options, { from, replace: replace === true }),
  );
}
