export const snippet = {
  open: 'As code',
  title: 'This view as code',
  curl: 'curl',
  sdk: '@svc/client',
  token: 'TOKEN is a token of yours, from your account page. It is not in these texts.',
  accessToken:
    'TOKEN is a token of access management: POST /api/v1/authentication/auth/ with username and password answers one, for a day. It is not in these texts.',
  counts: 'Both print a line for each row of the table.',
  page: (size: number) => `Both ask for the first ${size} objects; the answer says how many there are.`,
  copy: (name: string) => `Copy ${name}`,
  copied: 'Copied.',
  marked: 'The text is selected: copy it with the keys of your system.',
};
