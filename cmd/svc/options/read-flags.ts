import { OperatorError } from './operator-error.ts';
import { findOption, optionNames, type OptionName } from './option-table.ts';
import { trueOrFalse } from './option-types.ts';
import { newUnknownOption, type Setting } from './setting.ts';

/**
 * The options on a command line: `--svc.server.port=8090` or `--svc.server.port 8090`; a `--name` without a value sets
 * a boolean option to true. The last of duplicates wins. Throws OperatorError for anything else.
 */
export function readFlags(args: readonly string[]): Setting[] {
  const settings: Setting[] = [];
  for (let i = 0; i < args.length; i += 1) {
    const { name, text } = split(args[i]!);
    const option = findOption(name);
    if (option === undefined)
      throw newUnknownOption(
        `option --${name}`,
        `--${name}`,
        optionNames.map((each) => `--${each}`),
      );
    const setting = { name: name as OptionName, spelling: `--${name}` };
    const next = args[i + 1];
    if (text !== undefined) settings.push({ ...setting, text });
    else if (option.type === trueOrFalse && next !== 'true' && next !== 'false')
      settings.push({ ...setting, text: 'true' });
    else if (next === undefined || next.startsWith('--'))
      throw new OperatorError(`The option --${name} needs a value.`);
    else {
      settings.push({ ...setting, text: next });
      i += 1;
    }
  }
  return settings;
}

function split(arg: string): { name: string; text?: string } {
  // The message does not repeat the word: it may be a secret after a stray space.
  if (!arg.startsWith('--'))
    throw new OperatorError(
      'There is a word on the command line that is neither a command nor an option; options are written --name=value.',
    );
  const equals = arg.indexOf('=');
  return equals === -1 ? { name: arg.slice(2) } : { name: arg.slice(2, equals), text: arg.slice(equals + 1) };
}
