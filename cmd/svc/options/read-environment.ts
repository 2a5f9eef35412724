import { environmentName, optionNames } from './option-table.ts';
import { newUnknownOption, type Setting } from './setting.ts';

const namesByVariable = new Map(optionNames.map((name) => [environmentName(name), name]));

/**
 * The options in environment variables. Throws OperatorError for an unknown SVC_ variable; SVC_TEST_ variables belong
 * to the tests.
 */
export function readEnvironment(environment: Readonly<Record<string, string | undefined>>): Setting[] {
  return Object.entries(environment).flatMap(([variable, text]) => {
    if (text === undefined || !variable.startsWith('SVC_') || variable.startsWith('SVC_TEST_')) return [];
    const name = namesByVariable.get(variable);
    if (name === undefined)
      throw newUnknownOption(`option for the environment variable ${variable}`, variable, [...namesByVariable.keys()]);
    return [{ name, text, spelling: variable }];
  });
}
