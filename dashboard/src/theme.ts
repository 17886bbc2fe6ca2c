import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from "@mantine/core";

const tick: MantineColorsTuple = [
  "#eef3ff", "#dbe5fe", "#b5c8fb", "#8ca9f8", "#6a8ef5", "#4a74f0", "#2f5ce8", "#1f49d8", "#163bb5", "#0f2c8c",
];

// White words on the two shades of buttons, the seventh and eighth, have a contrast of at least 4.5.
const red: MantineColorsTuple = [
  "#fff5f5", "#ffe3e3", "#ffc9c9", "#ffa8a8", "#ff8787", "#ff6b6b", "#d42a30", "#c4141f", "#ab0f19", "#8f0b13",
];

// From ink to page, as Mantine uses them: text, borders, fields, surfaces.
const dark: MantineColorsTuple = [
  "#e6ebf2", "#c3ccd8", "#9aa7b8", "#687384", "#3a4656", "#2a3441", "#1a222c", "#171e27", "#12181f", "#0f141b",
];

/** Type, spacing and corners; the colours of surfaces and states are in tokens.css. */
export const theme = createTheme({
  colors: { tick, red, dark },
  primaryColor: "tick",
  primaryShade: { light: 7, dark: 6 },
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace",
  fontSizes: { xs: "12px", sm: "13px", md: "13px", lg: "16px", xl: "20px" },
  lineHeights: { xs: "1.5", sm: "1.54", md: "1.54", lg: "1.5", xl: "1.4" },
  headings: {
    fontWeight: "600",
    sizes: {
      h1: { fontSize: "20px", lineHeight: "28px" },
      h2: { fontSize: "16px", lineHeight: "24px" },
      h3: { fontSize: "13px", lineHeight: "20px" },
    },
  },
  spacing: { xs: "4px", sm: "8px", md: "16px", lg: "24px", xl: "32px" },
  radius: { xs: "3px", sm: "4px", md: "6px", lg: "8px", xl: "12px" },
  defaultRadius: "md",
  shadows: { xs: "none", sm: "none", md: "none", lg: "none", xl: "none" },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { size: "xs" } },
    TextInput: { defaultProps: { size: "xs" } },
    NumberInput: { defaultProps: { size: "xs" } },
    Textarea: { defaultProps: { size: "xs" } },
    PasswordInput: { defaultProps: { size: "sm" } },
    Select: { defaultProps: { size: "xs", checkIconPosition: "right" } },
    MultiSelect: { defaultProps: { size: "xs" } },
    TagsInput: { defaultProps: { size: "xs" } },
    Autocomplete: { defaultProps: { size: "xs" } },
    SegmentedControl: { defaultProps: { size: "xs" } },
    Checkbox: { defaultProps: { size: "xs" } },
    Switch: { defaultProps: { size: "xs" } },
    ActionIcon: { defaultProps: { variant: "subtle", color: "gray", size: 28 } },
    Paper: { defaultProps: { withBorder: true } },
    Menu: { defaultProps: { withinPortal: true, position: "bottom-end", shadow: "none" } },
    Popover: { defaultProps: { shadow: "none" } },
    Modal: { defaultProps: { centered: true, shadow: "none", overlayProps: { backgroundOpacity: 0.4 } }, styles: { title: { fontSize: "16px", fontWeight: 600 } } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: false, color: "dark" } },
  },
});

/** Mantine's own surfaces and texts, in our colours. */
export const cssVariables: CSSVariablesResolver = () => {
  const ours = {
    "--mantine-color-body": "var(--card)",
    "--mantine-color-text": "var(--ink)",
    "--mantine-color-dimmed": "var(--secondary)",
    "--mantine-color-placeholder": "var(--secondary)",
    "--mantine-color-default": "var(--card)",
    "--mantine-color-default-hover": "var(--hover)",
    "--mantine-color-default-border": "var(--line)",
    "--mantine-color-anchor": "var(--link)",
    "--mantine-color-error": "var(--danger-text)",
  };
  return { variables: {}, light: ours, dark: ours };
};
