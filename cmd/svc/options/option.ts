/** Parses the text of an option. */
export interface OptionType<T> {
  /** Shown in the table of options: `port`, `duration`. */
  readonly label: string;
  /** Ends the sentence "... is not ": `a duration, such as 30s, 10m or 1h`. */
  readonly expected: string;
  /** Undefined: the text is not of this type. */
  parse(text: string): T | undefined;
}

/** One startup option; its name is its key in the table. */
export interface Option<T> {
  readonly type: OptionType<T>;
  /** The default, as a user would write it; '' means no value. */
  readonly default: string;
  readonly doc: string;
  /** Secret: its value is never shown, not even if it is malformed. */
  readonly isSecret?: boolean;
}

/** The value an option has: that of its type, or undefined where its default is ''. */
export type ValueOf<O> = O extends Option<infer T> & { readonly default: '' }
  ? T extends readonly unknown[]
    ? T
    : T | undefined
  : O extends Option<infer T>
    ? T
    : never;
