import { optionTable, type OptionName } from './option-table.ts';
import type { Option } from './option.ts';

/** A table of these options, as `--help` prints it. */
export function formatOptionTable(names: readonly OptionName[]): string {
  const rows = names.map((name) => {
    const { type, default: value, doc }: Option<unknown> = optionTable[name];
    return {
      name,
      type: type.label.length > 10 && type.label.includes('|') ? 'word' : type.label,
      value: value === '' ? '-' : value,
      doc,
    };
  });
  const width = (column: 'name' | 'type' | 'value'): number => Math.max(...rows.map((row) => row[column].length));
  const [nameWidth, typeWidth, valueWidth] = [width('name'), width('type'), width('value')];
  const lines = rows.map(
    ({ name, type, value, doc }) =>
      `  ${name.padEnd(nameWidth)}  ${type.padEnd(typeWidth)}  ${value.padEnd(valueWidth)}  ${doc}`,
  );
  return [
    'Options (name, type, default), each in three spellings, of which the later wins:',
    '  config/*.yaml  svc: { server: { port: 8090 } }  or  svc.server.port: 8090',
    '  environment    SVC_SERVER_PORT=8090',
    '  flag           --svc.server.port=8090',
    '',
    ...lines,
  ].join('\n');
}
