/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Addresses of daemons are read and written, and those of this machine are found.
 */

#include "config.h"

#include <dvm.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <gio/gunixsocketaddress.h>

#include "dvmd-address.h"
#include "dvmd-config.h"

void
dvmd_tcp_options_clear (DvmdTcpOptions *options)
{
  g_clear_pointer (&options->where, g_free);
}

static gboolean
parse_family (const char *text, DvmdFamily *family)
{
  if (strcmp (text, "any") == 0)
    *family = DVMD_FAMILY_ANY;
  else if (strcmp (text, "ipv4") == 0)
    *family = DVMD_FAMILY_IPV4;
  else if (strcmp (text, "ipv6") == 0)
    *family = DVMD_FAMILY_IPV6;
  else
    return FALSE;
  return TRUE;
}

gboolean
dvmd_tcp_options_parse (const char *address, const char *family, const char *ports, DvmdTcpOptions *options,
                        GError **error)
{
  memset (options, 0, sizeof *options);
  if (!parse_family (family, &options->family))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "\"%s\" is no value of listen-family; it takes any, ipv4, ipv6",
                 family);
  else if (!dvmd_config_parse_ports (ports, &options->first_port, &options->last_port))
    g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
                 "\"%s\" is no value of port-range; it takes 0 for any, a port, or two as in 5000-5100", ports);
  else
    {
      options->where = g_strdup (address);
      return TRUE;
    }
  return FALSE;
}

/* ---- addresses of this machine ---- */

static gboolean
matches_word (const char *word, const char *interface, GInetAddress *address)
{
  g_autoptr (GInetAddressMask) mask = NULL;
  g_autoptr (GInetAddress) one = NULL;

  if (strcmp (word, interface) == 0)
    return TRUE;
  if (strchr (word, '/') != NULL)
    {
      mask = g_inet_address_mask_new_from_string (word, NULL);
      return mask != NULL && g_inet_address_mask_matches (mask, address);
    }
  one = g_inet_address_new_from_string (word);
  return one != NULL && g_inet_address_equal (one, address);
}

static gboolean
matches (const DvmdTcpOptions *options, const char *interface, GInetAddress *address)
{
  g_auto (GStrv) words = g_strsplit_set (options->where, " ,", -1);
  GSocketFamily family = g_inet_address_get_family (address);
  gboolean any = TRUE;

  if (g_inet_address_get_is_link_local (address)
      || (options->family == DVMD_FAMILY_IPV4 && family != G_SOCKET_FAMILY_IPV4)
      || (options->family == DVMD_FAMILY_IPV6 && family != G_SOCKET_FAMILY_IPV6))
    return FALSE;
  for (guint i = 0; words[i] != NULL; i++)
    if (*words[i] != '\0')
      {
        any = FALSE;
        if (matches_word (words[i], interface, address))
          return TRUE;
      }
  return any;
}

static GInetAddress *
address_of (const struct ifaddrs *entry)
{
  g_autoptr (GSocketAddress) socket_address = NULL;
  gsize size;

  if (entry->ifa_addr == NULL || (entry->ifa_flags & IFF_UP) == 0)
    return NULL;
  if (entry->ifa_addr->sa_family == AF_INET)
    size = sizeof (struct sockaddr_in);
  else if (entry->ifa_addr->sa_family == AF_INET6)
    size = sizeof (struct sockaddr_in6);
  else
    return NULL;
  socket_address = g_socket_address_new_from_native (entry->ifa_addr, size);
  if (socket_address == NULL)
    return NULL;
  return g_object_ref (g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (socket_address)));
}

GPtrArray *
dvmd_address_find_local (const DvmdTcpOptions *options, GError **error)
{
  g_autoptr (GPtrArray) found = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GPtrArray) loopback = g_ptr_array_new_with_free_func (g_object_unref);
  struct ifaddrs *list;
  gboolean named = strspn (options->where, " ,") < strlen (options->where);

  if (getifaddrs (&list) < 0)
    {
      g_set_error (error, DVM_ERROR, DVM_ERROR_FAILED, "The addresses of this machine cannot be listed: %s",
                   g_strerror (errno));
      return NULL;
    }
  for (const struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next)
    {
      g_autoptr (GInetAddress) address = address_of (entry);

      if (address != NULL && matches (options, entry->ifa_name, address))
        g_ptr_array_add (g_inet_address_get_is_loopback (address) && !named ? loopback : found, g_object_ref (address));
    }
  freeifaddrs (list);
  if (found->len == 0 && loopback->len > 0)
    return g_steal_pointer (&loopback);
  if (found->len > 0)
    return g_steal_pointer (&found);
  g_set_error (error, DVM_ERROR, DVM_ERROR_NOT_FOUND,
               "This machine has no address that listen-address=\"%s\" and listen-family choose: name an address, a "
               "network as in 10.1.0.0/16, or an interface that is up",
               options->where);
  return NULL;
}

GStrv
dvmd_address_list_own (void)
{
  g_autoptr (GStrvBuilder) texts = g_strv_builder_new ();
  struct ifaddrs *list = NULL;

  if (getifaddrs (&list) < 0)
    list = NULL;
  for (const struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next)
    {
      g_autoptr (GInetAddress) address = address_of (entry);
      g_autofree char *text = NULL;

      if (address == NULL || g_inet_address_get_is_link_local (address))
        continue;
      text = g_inet_address_to_string (address);
      g_strv_builder_add (texts, text);
    }
  if (list != NULL)
    freeifaddrs (list);
  return g_strv_builder_end (texts);
}

gboolean
dvmd_address_is_own (const char *text)
{
  g_autoptr (GInetAddress) address = g_inet_address_new_from_string (text);
  g_autofree char *usual = address != NULL ? g_inet_address_to_string (address) : NULL;
  g_auto (GStrv) own = NULL;

  if (address == NULL || g_inet_address_get_is_loopback (address))
    return address != NULL;
  own = dvmd_address_list_own ();
  return g_strv_contains ((const char *const *)own, usual);
}

/* ---- texts ---- */

char *
dvmd_address_to_text (GInetAddress *address, guint16 port)
{
  g_autofree char *text = g_inet_address_to_string (address);

  if (g_inet_address_get_family (address) == G_SOCKET_FAMILY_IPV6)
    return g_strdup_printf ("tcp:[%s]:%u", text, port);
  return g_strdup_printf ("tcp:%s:%u", text, port);
}

char *
dvmd_address_dup_peer (int fd)
{
  struct sockaddr_storage native;
  socklen_t size = sizeof native;
  g_autoptr (GSocketAddress) address = NULL;

  if (getpeername (fd, (struct sockaddr *)&native, &size) == 0)
    address = g_socket_address_new_from_native (&native, size);
  if (address == NULL || !G_IS_INET_SOCKET_ADDRESS (address))
    return g_strdup ("a unix socket");
  return g_socket_connectable_to_string (G_SOCKET_CONNECTABLE (address));
}

static gboolean
refuse_address (const char *text, GError **error)
{
  g_autofree char *shown = g_utf8_make_valid (text, -1);

  g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM,
               "\"%s\" is no address of a daemon: it takes tcp:HOST:PORT, tcp:[IPV6]:PORT or unix:PATH", shown);
  return FALSE;
}

static gboolean
parse_unix (const char *text, const char *path, GSocketAddress **address, GError **error)
{
  if (*path != '/')
    return refuse_address (text, error);
  if (strlen (path) > 107)
    {
      g_autofree char *shown = g_utf8_make_valid (path, -1);

      g_set_error (error, DVM_ERROR, DVM_ERROR_BAD_PARAM, "The path of a unix socket has up to 107 bytes: %s", shown);
      return FALSE;
    }
  *address = g_unix_socket_address_new (path);
  return TRUE;
}

gboolean
dvmd_address_parse (const char *text, GSocketAddress **address, char **host, guint16 *port, GError **error)
{
  const char *colon;
  guint64 number;

  *address = NULL;
  *host = NULL;
  if (g_str_has_prefix (text, "unix:"))
    return parse_unix (text, text + strlen ("unix:"), address, error);
  colon = strrchr (text, ':');
  if (!g_str_has_prefix (text, "tcp:") || colon == text + 3
      || !g_ascii_string_to_unsigned (colon + 1, 10, 1, G_MAXUINT16, &number, NULL))
    return refuse_address (text, error);
  text += strlen ("tcp:");
  *port = (guint16)number;
  *host = *text == '[' && colon[-1] == ']' ? g_strndup (text + 1, colon - text - 2) : g_strndup (text, colon - text);
  if (**host == '\0')
    {
      g_clear_pointer (host, g_free);
      return refuse_address (text, error);
    }
  *address = g_inet_socket_address_new_from_string (*host, *port);
  return TRUE;
}
