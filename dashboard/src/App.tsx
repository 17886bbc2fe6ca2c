import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode, useEffect } from "react";
import { queryClient } from "./api/queryClient";
import { Toasts } from "./parts/Toasts";
import { installTips } from "./parts/tips";
import { router } from "./routes";
import { cssVariables, theme } from "./theme";

/** The policy of the page allows styles that are made at run time only with this. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
setNonce(nonce);

const colorSchemes = localStorageColorSchemeManager({ key: "tickwork-color-scheme" });

export function App() {
  useEffect(installTips, []);
  return (
    <StrictMode>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={cssVariables}
        colorSchemeManager={colorSchemes}
        defaultColorScheme="auto"
        getStyleNonce={() => nonce}
      >
        <QueryClientProvider client={queryClient}>
          <Toasts />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>
  );
}
