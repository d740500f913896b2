/** Bytes, durations, ages and money as text. Pure: what time it is comes in. */

import type { IWords } from './words';

const DAY = 86_400;

/** "0 B", "980 B", "4.1 MB": three digits at most, powers of ten as the magics say them. */
export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let value = Math.max(0, count);
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? String(Math.round(value)) : significant(value)} ${units[unit] ?? ''}`;
}

/** "4 ms", "1.2 s", "2 min 6 s", "3 h 20 min". */
export function duration(seconds: number): string {
  if (seconds < 0.9995) {
    return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  }
  if (seconds < 59.95) {
    return `${significant(seconds)} s`;
  }
  const whole = Math.round(seconds);
  if (whole < 3600) {
    return pair(Math.floor(whole / 60), 'min', whole % 60, 's');
  }
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) {
    return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  }
  const hours = Math.round(seconds / 3600);
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

/** "now", "5 min", "3 h", "2 d", then the date: how long ago, for a narrow column. */
export function age(then: number, now: number): string {
  const seconds = now - then;
  if (seconds < 45) {
    return 'now';
  }
  if (seconds < 3570) {
    return `${Math.max(1, Math.round(seconds / 60))} min`;
  }
  if (seconds < DAY - 1800) {
    return `${Math.round(seconds / 3600)} h`;
  }
  if (seconds < 7 * DAY) {
    return `${Math.round(seconds / DAY)} d`;
  }
  const year = new Date(then * 1000).getFullYear() === new Date(now * 1000).getFullYear();
  return new Date(then * 1000).toLocaleDateString(undefined, {
    day: 'numeric',
    month: 'short',
    ...(year ? {} : { year: 'numeric' })
  });
}

/** "just now", "5 min ago", then the date. */
export function ago(then: number, now: number, words: IWords): string {
  const told = age(then, now);
  if (told === 'now') {
    return words.__('just now');
  }
  return now - then < 7 * DAY ? words.__('%1 ago', told) : told;
}

/** The moment in full, for a tooltip. */
export function moment(then: number): string {
  return new Date(then * 1000).toLocaleString(undefined, {
    dateStyle: 'medium',
    timeStyle: 'short'
  });
}

/** "$0.42", "$0.0031", "$1,204.00". */
/** "Today", "Yesterday" or the date. */
export function day(then: number, now: number, words: IWords): string {
  const [date, today] = [new Date(then * 1000), new Date(now * 1000)];
  const noon = (of: Date): number => new Date(of).setHours(12, 0, 0, 0);
  const back = Math.round((noon(today) - noon(date)) / 86_400_000);
  if (back <= 1) {
    return back === 1 ? words.__('Yesterday') : words.__('Today');
  }
  const year = date.getFullYear() === today.getFullYear() ? {} : ({ year: 'numeric' } as const);
  return date.toLocaleDateString([], { weekday: 'short', month: 'short', day: 'numeric', ...year });
}

export function money(usd: number): string {
  if (usd !== 0 && Math.abs(usd) < 0.01) {
    return Math.abs(usd) < 0.0001 ? '< $0.0001' : `$${Number(usd.toPrecision(2))}`;
  }
  return `$${usd.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** "12,345". */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** Text as a terminal would leave it: without colours, each line as it was overwritten last. */
export function plain(text: string): string {
  return text.replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, '').replace(/[^\n]*\r(?!\n|$)/g, '');
}

function pair(big: number, bigUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${big} ${bigUnit}` : `${big} ${bigUnit} ${small} ${smallUnit}`;
}

/** Two digits below ten, whole numbers above. */
function significant(value: number): string {
  return value < 9.95 ? value.toFixed(1).replace(/\.0$/, '') : value.toFixed(0);
}
