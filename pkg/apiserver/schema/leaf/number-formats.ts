/** ISBN-10 or ISBN-13; spaces and hyphens between the digits are allowed. */
export function isBookNumber(text: string): boolean {
  return isShortBookNumber(text) || isLongBookNumber(text);
}

export function isShortBookNumber(text: string): boolean {
  const digits = withoutSeparators(text);
  if (!/^\d{9}[\dXx]$/.test(digits)) return false;
  return weightedSum(digits, (index) => 10 - index) % 11 === 0;
}

export function isLongBookNumber(text: string): boolean {
  const digits = withoutSeparators(text);
  return /^97[89]\d{10}$/.test(digits) && weightedSum(digits, (index) => (index % 2 === 0 ? 1 : 3)) % 10 === 0;
}

/** 13 to 19 digits with a valid check digit. Source: ISO/IEC 7812, Luhn. */
export function isCardNumber(text: string): boolean {
  const digits = withoutSeparators(text);
  if (!/^\d{13,19}$/.test(digits)) return false;
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    const digit = Number(digits[digits.length - 1 - index]);
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

function withoutSeparators(text: string): string {
  return text.length > 64 ? '' : text.replace(/[ -]/g, '');
}

function weightedSum(digits: string, weight: (index: number) => number): number {
  return Array.from(digits).reduce(
    (sum, digit, index) => sum + (digit === 'X' || digit === 'x' ? 10 : Number(digit)) * weight(index),
    0,
  );
}
